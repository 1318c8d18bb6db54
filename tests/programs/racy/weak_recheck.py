# expect: Course.enrol
# within: student

"""The course looks for room and for the name, takes the lock, and looks for the name only: it gets overfull."""

import threading


class Course:
    def __init__(self, places):
        self.lock = threading.Lock()
        self.places = places
        self.names = set()

    def enrol(self, name):
        if name not in self.names and len(self.names) < self.places:  # bug
            with self.lock:
                if name not in self.names:  # bug
                    self.names.add(name)  # bug


courses = [Course(2) for _ in range(60)]


def student(name):
    for course in courses:
        course.enrol(name)


threads = [threading.Thread(target=student, args=(name,)) for name in ("ann", "bob", "cid", "dan")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
full = [course for course in courses if len(course.names) > course.places]
print(f"broken: {len(full)} courses are overfull" if full else "no course is overfull")
