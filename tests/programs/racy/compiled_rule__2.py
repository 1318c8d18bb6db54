# expect: recompute
# within: ticking
# level: suspect

"""The cells of a sheet have formulas; the result of one is stored in its cell."""

from threading import Thread

sheet = {"count": 0, "total": 0}
formulas = {}


def formula(cell):
    if cell not in formulas:
        formulas[cell] = compile(TEXTS[cell], filename=f"<{cell}>", mode="eval")
    return formulas[cell]


TEXTS = {"count": "sheet['count'] + 1", "total": "sheet['total'] + 2"}
for name in TEXTS:
    formula(name)


def recompute(cell):
    result = eval(formula(cell))
    sheet[cell] = result  # bug


def ticking():
    for _ in range(40):
        recompute("count")
        recompute("total")


clerks = [Thread(target=ticking) for _ in range(3)]
for clerk in clerks:
    clerk.start()
for clerk in clerks:
    clerk.join()
print("broken: lost" if sheet != {"count": 120, "total": 240} else "computed")
