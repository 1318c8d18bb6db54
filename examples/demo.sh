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

echo "# A bank account whose every access is locked, and which loses money all the same (exit code 1: there are findings) ..."
run atomsan run --noise bank.py || echo "(exit code $?)"
echo
echo "# ... and the same program without the bug."
run atomsan run --noise bank_fixed.py

echo
echo "# In a quiet run nothing happens to the money, but it could: prediction looks at the other interleavings of that run (exit code 1) ..."
run atomsan record --quiet -o quiet.atomtrace bank.py
run atomsan predict quiet.atomtrace || echo "(exit code $?)"
echo
echo "# ... and proves that nothing can happen without the bug."
run atomsan record --quiet -o fixed.atomtrace bank_fixed.py
run atomsan predict fixed.atomtrace

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
