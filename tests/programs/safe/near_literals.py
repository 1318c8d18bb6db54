"""Four in one step; others divide by what they see."""

import threading


class Scale:
    def __init__(self):
        self.factor = 4

    def calibrate(self):
        self.factor = 4

    def weigh(self, load):
        return load / self.factor


scale = Scale()
errors = []


def technician():
    for _ in range(150):
        scale.calibrate()


def customer():
    for load in range(150):
        try:
            scale.weigh(load)
        except ZeroDivisionError:
            errors.append(load)


threads = [threading.Thread(target=job) for job in (technician, customer, customer)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(errors)} loads could not be weighed" if errors else "all weighed")
