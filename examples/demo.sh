#!/bin/sh
# `make demo`: what AtomSan can do today, on a small example. Each command is shown before it runs.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
examples=$(cd "$(dirname "$0")" && pwd)
cp "$examples/bank.std" "$examples/bank-broken.std" "$examples/bank.py" "$examples/bank_fixed.py" "$work"
cd "$work"

run() {
    printf '\n$ %s\n' "$*"
    "$@"
}

echo "# A bank account whose every access is locked. Its money is rarely lost, but it could be in this run (exit code 1: there are findings) ..."
run atomsan run bank.py || echo "(exit code $?)"
echo
echo "# ... and the same program without the bug: that no interleaving of its run loses money is proved."
run atomsan run bank_fixed.py

echo
echo "# A run can be recorded now, and be looked at later (exit code 1) ..."
run atomsan record --quiet -o run.atomtrace bank.py
run atomsan predict run.atomtrace || echo "(exit code $?)"

echo
echo "# Traces of other tools are checked too. A run of a bank: every access is locked, but a deposit takes the lock twice."
run atomsan stats bank.std
run atomsan validate bank.std

echo
echo "# Was it atomic? No: a deposit gives up the lock half-way (exit code 1: there are findings) ..."
run atomsan check bank.std || echo "(exit code $?)"
echo
echo "# ... so deposits are not atomic, says the specification that is inferred, and under it nothing is left to find."
run atomsan refine bank.std -o spec.toml
run cat spec.toml
run atomsan check bank.std --spec spec.toml

echo
echo "# A trace that cannot have happened is refused, with the line and the reason (exit code 2) ..."
run atomsan validate bank-broken.std || echo "(exit code $?)"
echo
echo "# ... or repaired, if you say so."
run atomsan validate --lenient bank-broken.std

echo
echo "# Native storage, and back again without losing a byte."
run atomsan convert bank.std bank.atomtrace
run atomsan convert bank.atomtrace again.std
run cmp bank.std again.std
run ls bank.atomtrace

echo
echo "# Ten million events with three violations in them, and where they are."
run atomsan generate --kind violating --violations 3 --events 10000000 --seed 7 -o big.atomtrace --truth truth.json
run atomsan stats big.atomtrace
run head -c 400 truth.json
echo
