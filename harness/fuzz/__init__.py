"""The fuzzers play random operations over faulty links against a plain reference, and kill the daemon under load.

    python -m harness.fuzz [PROTOCOL|all] [--minutes N | --rounds N] [--seed S] [--only KIND]
    python -m harness.fuzz replay FILE...                                    (saved in tests/regressions)
    python -m harness.fuzz kill PROTOCOL [--seconds N]
    python -m harness.fuzz crash PROTOCOL [--crashes N] [--records N]
    python -m harness.fuzz parsers [PROTOCOL ...] [--inputs N] [--seed S]    (harness/fuzz_targets/parsers)

A protocol brings spec/<p>/live/workload.yaml, reference.py (Reference, Actor), history.go, workload.h and recovery.py.
"""
