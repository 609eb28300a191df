"""A small text in several scripts, from which tiny vocabularies are made."""

TEXT = """\
The river rises in the hills and runs down to the sea. In the spring the water is high and the boats can reach the old
town.
A ferry crosses every hour. The ferryman knows the name of every child on both sides of the river.
There is a library near the market, and a clock that is always seven minutes late. Nobody has ever asked for it to be
mended.
When it rains, people read. When the sun shines, they sit on the steps and talk about what they have read.
On the first day of every month the baker brings twelve loaves to the school. The children count them: one, two,
three, four.
"How many are left?" asks the teacher. "Ten!" they answer, because two are already eaten.
The train to the north leaves at 6:45 and the train to the south at 7:30. A ticket costs 12.50 and a return ticket
20.00.
She writes letters to her brother, who works on a ship. He answers from harbours whose names she has to look up.
If you walk for an hour along the river, you come to a mill. The wheel still turns, but it has not ground corn since
1926.
The mill is a museum now. It is open from April to October, and the tea is better than the museum.
def area(width, height):
    return width * height  # in square metres
for (int i = 0; i < 10; ++i) { total += values[i]; }
Der Fluss entspringt in den Bergen und fließt bis zum Meer. Im Frühling ist das Wasser hoch.
La rivière naît dans les collines et descend jusqu'à la mer. Le pêcheur connaît déjà le chemin.
El río nace en las montañas y baja hasta el mar. ¿Cuántos barcos hay en el puerto?
Река берёт начало в горах и течёт к морю. Весной вода высокая.
Ο ποταμός πηγάζει από τα βουνά και φτάνει στη θάλασσα.
川は山から海へ流れます。春には水が多いです。
河流从山上流向大海。春天的水很高。
النهر ينبع من الجبال ويجري إلى البحر.
नदी पहाड़ों से निकलती है और समुद्र तक जाती है।
"""
