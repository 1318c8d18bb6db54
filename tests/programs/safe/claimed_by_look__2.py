"""Who looks for a free bed gets the first one, and holds the lock until it is taken."""

import threading


class Bed:
    def __init__(self, number):
        self.number = number
        self.patient = None


class Ward:
    def __init__(self, beds):
        self.guard = threading.RLock()
        self.beds = [Bed(number) for number in range(beds)]
        self.turned_away = 0

    def first_free(self):
        with self.guard:
            for bed in self.beds:
                if bed.patient is None:
                    return bed
        return None

    def lay(self, bed, patient):
        with self.guard:
            bed.patient = patient


def attend(ward, patient, lain):
    with ward.guard:
        bed = ward.first_free()
        if bed is None:
            return
        ward.lay(bed, patient)
    lain.append(bed.number)


def nurse(ward, patients, lain):
    for patient in patients:
        attend(ward, patient, lain)


ward = Ward(60)
lain = []
nurses = [
    threading.Thread(target=nurse, args=(ward, [f"{name} {number}" for number in range(20)], lain))
    for name in ("east", "west", "south")
]
for one in nurses:
    one.start()
for one in nurses:
    one.join()
print("broken: two in one bed" if len(set(lain)) < len(lain) else "a bed for everybody")
