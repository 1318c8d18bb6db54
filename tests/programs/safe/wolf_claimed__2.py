"""Leases in a table: taken by who finds them free, given back by who has them, through one locked compare-and-swap."""

import threading

owners = dict.fromkeys(("alpha", "beta"), "")
loads = {"alpha": [], "beta": []}
guard = threading.Lock()


def swap(name, old, new):
    with guard:
        found = owners[name]
        if found == old:
            owners[name] = new
        return found == old


def tenant(me):
    for _ in range(20):
        for name in ("alpha", "beta"):
            if swap(name, "", me):
                loads[name].append(me)
                swap(name, me, "")


tenants = [threading.Thread(target=tenant, args=(f"tenant {number}",)) for number in range(3)]
for one in tenants:
    one.start()
for one in tenants:
    one.join()
print(owners, sum(map(len, loads.values())) > 0)
