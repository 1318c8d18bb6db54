"""Fields of a form are entered under keys of one's own: others' keys come in between."""

import threading

forms = {}


def enter(person):
    forms[person, "name"] = person.title()
    forms[person, "mail"] = person + "@example.org"
    forms.setdefault((person, "tries"), 0)


def secretary(persons):
    for person in persons:
        enter(person)


groups = [[f"{letter}{n}" for n in range(50)] for letter in "abc"]
threads = [threading.Thread(target=secretary, args=(group,)) for group in groups]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("forms" if len(forms) == 450 else "broken: forms", len(forms))
