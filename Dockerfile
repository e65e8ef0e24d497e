# The images of `just docker all` and of compose.yaml. If no image can be pulled, see docs/how-to/containers.md.
#
#   toolchain   what ./bootstrap installs
#   artefacts   the repository, generated and built; the checks run in it
#   daemon      the daemons alone, with the libraries that they need
#
# The secrets are the host's settings of apt, pip and Maven and its certificate authorities (harness/docker/settings.py). They
# exist only while a command runs, and are in no layer.

FROM debian:12.15-slim AS base

FROM base AS toolchain
WORKDIR /stepwise
COPY bootstrap pyproject.toml ./
RUN --mount=type=bind,source=harness/docker/with-host-settings,target=/run/with-host-settings \
    --mount=type=secret,id=apt_sources --mount=type=secret,id=apt_conf --mount=type=secret,id=pip_conf \
    --mount=type=secret,id=maven_settings --mount=type=secret,id=authorities \
    PIP_NO_CACHE_DIR=1 /run/with-host-settings ./bootstrap \
    && rm -rf build/bootstrap.log

FROM toolchain AS artefacts
COPY . .
# Does the same as the recipes, but does not check again that the generated code is up to date.
RUN just generate && for protocol in $(.venv/bin/python -m harness.base.protocols); do \
        make --no-print-directory -s -C runtime -j "$(nproc)" PROTOCOL="$protocol" || exit; \
    done
RUN for protocol in $(.venv/bin/python -m harness.base.protocols); do \
        install -D -t /image/bin "build/$protocol/${protocol}d" \
        && install -D -m 644 -t /image/lib/stepwise "build/$protocol/$protocol.bpf.o" || exit; \
    done; \
    clang-19 -target bpf -O2 -g -Wall -Wextra -Werror -idirafter "/usr/include/$(gcc -print-multiarch)" \
        -c harness/docker/pass.bpf.c -o /image/lib/stepwise-pass.bpf.o

FROM base AS daemon
RUN --mount=type=bind,source=harness/docker/with-host-settings,target=/run/with-host-settings \
    --mount=type=secret,id=apt_sources --mount=type=secret,id=apt_conf --mount=type=secret,id=authorities \
    /run/with-host-settings sh -c 'apt-get update && apt-get install -y --no-install-recommends ethtool iproute2 libbpf1 libcap2 libelf1 zlib1g'
COPY --from=artefacts /image /usr/local
COPY harness/docker/stepwise-serve /usr/local/bin/
ENTRYPOINT ["stepwise-serve"]
