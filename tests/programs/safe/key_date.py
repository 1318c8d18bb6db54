"""Guests by day: the new number is worked out under the lock."""

import datetime
import threading


class Calendar:
    def __init__(self):
        self._guests = {}
        self._lock = threading.Lock()

    def guests(self, day):
        with self._lock:
            return self._guests.setdefault(day, 0)

    def book(self, year, month, day, guests):
        date = datetime.date(year, month, day)
        with self._lock:
            total = self._guests.get(date, 0) + guests
            self._guests.update({date: total})


calendar = Calendar()


def agency():
    for n in range(60):
        calendar.book(2024, 2, 1 + n % 2, 2)


threads = [threading.Thread(target=agency) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
booked = calendar.guests(datetime.date(2024, 2, 1)) + calendar.guests(datetime.date(2024, 2, 2))
print("booked" if booked == 360 else "broken: booked", booked, "of 360")
