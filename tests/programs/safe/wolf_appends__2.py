"""Found words go to one list, whichever thread finds them, in any order."""

import threading

found = []


def search(text, letter):
    for word in text.split():
        if word.startswith(letter):
            found.append(word)
    found.extend(word for word in text.split() if word.endswith(letter))


def searcher(letter):
    for _ in range(20):
        search("anna eats beans at bob and barbara", letter)


threads = [threading.Thread(target=searcher, args=(letter,)) for letter in "abs"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("words" if len(found) == 220 else "broken: words", len(found))
