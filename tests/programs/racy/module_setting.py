# expect: rate
# within: asking

"""The first one who asks looks a rate up, and leaves it in the module of settings."""

import sys
import threading
import types

made = types.ModuleType("shop_settings")
made.rate, made.asked = None, 0
sys.modules["shop_settings"] = made


def look_up():
    return [19]


def rate():
    import shop_settings

    if shop_settings.rate is None:  # bug
        shop_settings.rate = look_up()  # bug
    return shop_settings.rate


answers = []


def asking():
    answers.append(rate())


threads = [threading.Thread(target=asking) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if any(answer is not answers[0] for answer in answers):
    print("broken: looked up twice")
print(answers[0])
