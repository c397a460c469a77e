"""A model of the rules by which processes share one destination.

Actors convert into a toy file system. The driver runs them call by call in a
random order, pauses them, kills them, lets others take the lock over at any
moment, and repeats calls late, as a network does. After every call it checks:

  * what _SUCCESS and each counted increment list is there, whole;
  * no input is counted twice;
  * what was once published stays, until an output replaces it whose plan saw it.

At the end a fresh run must succeed, and leave only its own files.

usage: model.py SCHEDULES [SEED [MUTANT]]
       model.py mutants

A mutant is the protocol without one of its rules; "mutants" lists them. The exit
code is 1 if a schedule broke a promise. With a mutant the first such schedule ends
the search.
"""

import random
import sys

MUTANTS = {
    "nofence": "a new holder leaves the directories of former holders in their places",
    "mkdirghost": "a mkdir may be carried out again later, under its name",
    "retry": "a retired manifest gets a name that was used before",
    "keeps": "a pending manifest stays after it was carried out",
    "blind": "a replacing plan is not compared with what the destination holds",
    "baseonly": "a replacing plan is compared with the plain output, but not with the increments",
    "baseless": "an incremental plan is not compared with the plain output",
    "twice": "an incremental plan is not compared with the inputs that were committed since",
}

WORK = ("D", ".rowtocol")
LOCK = ("D", "_lock")
SUCCESS = ("D", "_SUCCESS")
INPUTS = "abcd"


class Refused(Exception):
    """The file system refuses: no source, no parent, or the target exists."""


class Overtaken(Exception):
    """The lock is another actor's now."""


class FileSystem:
    """A tree of dictionaries. No rename overwrites."""

    def __init__(self):
        self.root = {"D": {".rowtocol": {}}}

    def dir(self, path):
        node = self.root
        for name in path:
            node = node.get(name) if isinstance(node, dict) else None
            if not isinstance(node, dict):
                raise Refused("no " + "/".join(path))
        return node

    def get(self, path):
        try:
            return self.dir(path[:-1]).get(path[-1])
        except Refused:
            return None

    def mkdir(self, path):
        parent = self.dir(path[:-1])
        if path[-1] in parent:
            raise Refused("exists: " + "/".join(path))
        parent[path[-1]] = {}

    def put(self, path, content):
        """Writes a whole file, by a temporary name in the actor's own directory."""
        self.dir(path[:-1])[path[-1]] = content

    def rename(self, source, target):
        if target[: len(source)] == source:
            raise Refused("into itself")
        a, b = self.dir(source[:-1]), self.dir(target[:-1])
        if source[-1] not in a:
            raise Refused("no source " + "/".join(source))
        if target[-1] in b:
            raise Refused("exists: " + "/".join(target))
        b[target[-1]] = a.pop(source[-1])

    def remove(self, path):
        self.dir(path[:-1]).pop(path[-1], None)


class Document:
    """The manifest of an output or of an increment; it never changes."""

    def __init__(self, id, inputs, files, seq, base, replaces, increment):
        self.id, self.inputs, self.files, self.seq = id, inputs, files, seq
        self.base, self.replaces, self.increment = base, replaces, increment

    def dirname(self):
        return f"increment-{self.seq:04}-{self.id}"


class World:
    """The file system, and what the promises are checked against."""

    def __init__(self, rng, mutant):
        self.fs, self.rng, self.mutant = FileSystem(), rng, mutant
        self.names = 0
        self.holders = 0  # how often the lock was taken
        self.taken = {}  # actor -> when it got the lock
        self.published = {}  # id -> document that was once counted
        self.replaced = set()  # ids that published outputs replace
        self.done = []  # ids of actors that reported success
        self.all_dead = False

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def looks_dead(self):
        """The worst case: any holder may be taken for dead at any time."""
        return self.all_dead or self.rng.random() < 0.8

    def counted(self):
        """The documents that a reader follows; None while it has to wait."""
        plain = self.fs.get(SUCCESS)
        if plain is None and (self.fs.get(LOCK) or self.waiting()):
            return None
        base = plain.id if plain else None
        return ([plain] if plain else []) + [d for d in increments(self.fs) if d.base == base]

    def waiting(self):
        """Whether an output waits to be published, or was retired."""
        names = ("pending", "retired")
        return any(n.startswith(names) for _, d in below(self.fs, WORK) for n in d)

    def check(self):
        now = self.counted()
        if now is None:
            return
        for d in now:
            where = ("D", d.dirname()) if d.increment else ("D",)
            for name in d.files:
                require(self.fs.get(where + (name,)) == d.id, "a listed file is missing", name)
            if d.id not in self.published:
                self.published[d.id] = d
                self.replaced |= d.replaces
        inputs = [i for d in now for i in d.inputs]
        require(len(inputs) == len(set(inputs)), "an input is counted twice", sorted(inputs))
        ids = {d.id for d in now}
        gone = set(self.published) - ids - self.replaced
        require(not gone, "a published output vanished", gone)
        require(not ids & self.replaced, "a replaced output is back", ids & self.replaced)


def require(holds, promise, detail):
    if not holds:
        raise AssertionError(promise, detail)


def below(fs, path):
    """Every directory at and below a path, but for what was moved out of the way."""
    node = fs.get(path)
    if not isinstance(node, dict):
        return
    yield path, node
    for name, child in list(node.items()):
        if isinstance(child, dict) and not name.startswith(("old-", "trash-")):
            yield from below(fs, path + (name,))


def increments(fs):
    """The documents of the increments in the destination, by their numbers."""
    dirs = [v for n, v in fs.dir(("D",)).items() if n.startswith("increment-")]
    return sorted((d["_SUCCESS"] for d in dirs if "_SUCCESS" in d), key=lambda d: d.seq)


class Actor:
    """One run. Each method is a generator that yields (name, call) for every call
    to the file system; the driver carries it out and sends the answer."""

    def __init__(self, world, name, inputs, incremental=False, overwrite=False, replans=False):
        self.w, self.fs, self.name = world, world.fs, name
        self.inputs, self.incremental = frozenset(inputs), incremental
        self.overwrite, self.replans = overwrite, replans
        self.id = world.fresh("h")
        self.dir = WORK + (self.id,)

    def run(self):
        seen = yield from self.look()
        yield ("mkdir", lambda: self.fs.mkdir(self.dir))
        if not (yield from self.acquire()):
            return "locked"
        yield from self.fence()
        yield from self.roll_forward()
        result = yield from self.work(seen)
        yield from self.release()
        return result

    # The lock.

    def acquire(self):
        for _ in range(6):
            mine = self.dir + (self.w.fresh("lock"),)
            yield ("put lock", lambda mine=mine: self.fs.put(mine, self.id))
            try:
                yield ("lock", lambda mine=mine: self.fs.rename(mine, LOCK))
                self.w.holders += 1
                self.w.taken[self.name] = self.w.holders
                return True
            except Refused:
                pass
            held = yield ("read lock", lambda: self.fs.get(LOCK))
            if held is None:
                continue
            if not self.w.looks_dead():
                return False
            stale = self.dir + (self.w.fresh("stale"),)
            yield from self.attempt("take over", LOCK, stale)
        return False

    def attempt(self, what, source, target):
        """A rename that may find nothing to do."""
        try:
            yield (what, lambda: self.fs.rename(source, target))
        except Refused:
            pass

    def check_lock(self):
        if not (yield ("check", lambda: self.fs.get(LOCK) == self.id)):
            raise Overtaken

    def move(self, what, source, target):
        yield from self.check_lock()
        yield (what, lambda: self.fs.rename(source, target))

    def move_if_there(self, what, source, target):
        yield from self.check_lock()
        yield from self.attempt(what, source, target)

    def fence(self):
        others = yield ("list work", lambda: [n for n in self.fs.dir(WORK) if n != self.id])
        for n in others:
            if not n.startswith("trash-") and self.w.mutant != "nofence":
                yield from self.move_if_there("fence", WORK + (n,), self.dir + ("fenced-" + n,))

    def release(self):
        yield from self.check_lock()
        yield from self.attempt("release", LOCK, self.dir + (self.w.fresh("released"),))
        trash = WORK + ("trash-" + self.id,)
        try:
            yield ("trash", lambda: self.fs.rename(self.dir, trash))
            yield ("remove", lambda: self.fs.remove(trash))
        except Refused:
            pass

    # What the destination holds.

    def look(self):
        """The plain output, or None, and the increments that count."""
        plain = yield ("read success", lambda: self.fs.get(SUCCESS))
        base = plain.id if plain else None
        beside = yield ("list increments", lambda: [d for d in increments(self.fs) if d.base == base])
        return plain, beside

    def find(self, name):
        for path, d in below(self.fs, self.dir):
            if name in d:
                return path + (name,)
        return None

    # The work under the lock.

    def work(self, seen):
        now = yield from self.look()
        if self.incremental:
            return (yield from self.add(seen, now))
        return (yield from self.replace(seen, now))

    def replace(self, seen, now):
        if self.replans:
            seen = now
        plain, beside = now
        if plain and plain.inputs == self.inputs and not beside:
            return "nothing"
        if (plain or beside) and not self.overwrite:
            return "other"
        if self.w.mutant == "baseonly":
            same = seen[0] is plain
        else:
            same = seen[0] is plain and seen[1] == beside
        if not same and self.w.mutant != "blind":
            return "changed"
        replaces = {d.id for d in [seen[0]] + seen[1] if d}
        return (yield from self.commit(self.inputs, now, None, replaces))

    def add(self, seen, now):
        if self.replans:
            seen = now
        known = {i for d in [seen[0]] + seen[1] if d for i in d.inputs}
        inputs = self.inputs - known
        if not inputs:
            return "nothing"
        plain, beside = now
        if seen[0] is not plain and self.w.mutant != "baseless":
            return "changed"
        since = {i for d in [plain] + beside if d for i in d.inputs}
        if inputs & since and self.w.mutant not in ("twice", "baseless"):
            return "changed"
        base = seen[0].id if seen[0] else None
        return (yield from self.commit(inputs, now, base, set()))

    def commit(self, inputs, now, base, replaces):
        id = self.w.fresh("o")
        files = [f"part{i}-{id}" for i in range(2)]
        for f in files:
            yield ("stage", lambda f=f: self.fs.put(self.dir + (f,), id))
        every = yield ("list numbers", lambda: [d.seq for d in increments(self.fs)])
        seq = max([0] + every + [d.seq for d in [now[0]] if d]) + 1
        doc = Document(id, inputs, files, seq, base, replaces, self.incremental)
        yield from self.check_lock()
        yield ("put pending", lambda: self.fs.put(self.dir + ("pending-" + id,), doc))
        if not (yield from self.publish(doc)):
            return "lost"
        self.w.done.append(id)
        return "done"

    # The steps of publishing; each finds out whether it was done before.

    def publish(self, doc):
        if doc.increment:
            return (yield from self.publish_increment(doc))
        return (yield from self.publish_output(doc))

    def publish_output(self, doc):
        plain = yield ("read success", lambda: self.fs.get(SUCCESS))
        if plain and plain.id != doc.id:
            name = "retired" if self.w.mutant == "retry" else self.w.fresh("retired")
            yield from self.move("retire", SUCCESS, self.dir + (name,))
        if not (yield from self.bring_in(doc, ("D",))):
            return False
        yield from self.move_old_out(doc)
        if not (yield ("read success", lambda: self.fs.get(SUCCESS))):
            written = self.dir + (self.w.fresh("success"),)
            yield ("put success", lambda: self.fs.put(written, doc))
            yield from self.move("success", written, SUCCESS)
        return True

    def publish_increment(self, doc):
        target = ("D", doc.dirname())
        if (yield ("stat", lambda: self.fs.get(target))) is not None:
            return True
        home = self.dir + (self.w.fresh("assembled"),)
        yield ("mkdir", lambda: self.fs.mkdir(home))
        if not (yield from self.bring_in(doc, home)):
            return False
        yield ("put success", lambda: self.fs.put(home + ("_SUCCESS",), doc))
        yield from self.move("increment", home, target)
        return True

    def bring_in(self, doc, home):
        for name in doc.files:
            if (yield ("stat", lambda name=name: self.fs.get(home + (name,)))) is None:
                source = yield ("find", lambda name=name: self.find(name))
                if source is None:
                    return False
                yield from self.move("move in", source, home + (name,))
        return True

    def move_old_out(self, doc):
        old = yield (
            "list",
            lambda: [
                n
                for n, v in self.fs.dir(("D",)).items()
                if n.startswith("part") and n not in doc.files
                or n.startswith("increment-") and v.get("_SUCCESS") and v["_SUCCESS"].base != doc.id
            ],
        )
        for n in old:
            yield from self.move_if_there("old out", ("D", n), self.dir + ("old-" + n,))

    def roll_forward(self):
        waiting = yield (
            "list pending",
            lambda: [(v, p + (n,)) for p, d in below(self.fs, self.dir) for n, v in d.items() if n.startswith("pending")],
        )
        for doc, path in sorted(waiting, key=lambda w: w[0].seq):
            plain, beside = yield from self.look()
            if doc.increment:
                passed = doc.base != (plain.id if plain else None)
            else:
                passed = plain and (plain.id == doc.id or plain.seq >= doc.seq)
            if not passed:
                yield from self.publish(doc)
            if self.w.mutant != "keeps":
                yield ("remove pending", lambda path=path: self.fs.remove(path))
        plain, _ = yield from self.look()
        if plain:
            yield from self.move_old_out(plain)


READS = {
    "check", "list", "list work", "list increments", "list numbers", "list pending",
    "stat", "find", "read lock", "read success",
}  # fmt: skip


class Schedule:
    """One random order of the calls of two or three actors."""

    def __init__(self, seed, mutant):
        self.rng = random.Random(seed)
        self.w = World(self.rng, mutant)
        self.trace, self.late, self.live = [], [], {}

    def run(self):
        rng = self.rng
        if rng.random() < 0.8:
            require(self.alone(Actor(self.w, "first", "a")) == "done", "the first run failed", "")
        if rng.random() < 0.4:
            self.alone(Actor(self.w, "second", "ab", incremental=True))
        for i in range(rng.choice([2, 2, 3])):
            actor = Actor(
                self.w,
                f"actor{i}",
                rng.choice(["ab", "bc", "cd", "abcd", "b", "c"]),
                incremental=rng.random() < 0.5,
                overwrite=rng.random() < 0.7,
                replans=rng.random() < 0.3,
            )
            steps = actor.run()
            self.live[actor.name] = [steps, next(steps)]
        self.interleave()
        while self.late:
            self.repeat(self.late.pop())
        self.settle()

    def alone(self, actor):
        """Runs an actor to its end with nothing beside it."""
        steps = actor.run()
        try:
            call = next(steps)
            while True:
                try:
                    answer = call[1]()
                except Refused as e:
                    call = steps.throw(e)
                else:
                    call = steps.send(answer)
                self.w.check()
        except StopIteration as end:
            return end.value
        except (Refused, Overtaken) as e:
            return f"error: {e}"

    def interleave(self):
        rng = self.rng
        speed = {n: rng.random() ** 2 for n in self.live}
        for _ in range(4000):
            if not self.live:
                return
            if rng.random() < 0.02:
                speed = {n: rng.random() ** 3 for n in self.live}
            if self.late and rng.random() < 0.03:
                self.repeat(self.late.pop(rng.randrange(len(self.late))))
                continue
            name = rng.choices(list(self.live), [speed[n] + 1e-6 for n in self.live])[0]
            if rng.random() < 0.004:
                del self.live[name]
                self.trace.append(f"{name} is killed")
                continue
            self.step(name)

    def step(self, name):
        steps, (what, call) = self.live[name]
        try:
            try:
                answer = call()
            except Refused as e:
                self.trace.append(f"{name}: {what} is refused: {e}")
                self.live[name][1] = steps.throw(e)
            else:
                self.trace.append(f"{name}: {what}")
                self.keep(name, what, call)
                self.w.check()
                self.live[name][1] = steps.send(answer)
        except StopIteration as end:
            self.trace.append(f"{name} ends: {end.value}")
            del self.live[name]
        except (Refused, Overtaken) as e:
            self.trace.append(f"{name} fails: {type(e).__name__} {e}")
            del self.live[name]

    def keep(self, name, what, call):
        """Keeps some calls to be carried out again late. A file is written by a name
        of its own and then renamed, so late writes find no source; so does a mkdir of
        which no second try is made under one name."""
        if what in READS or what.startswith("put") or what == "stage":
            return
        if what == "mkdir" and self.w.mutant != "mkdirghost":
            return
        if self.rng.random() < (0.5 if what == "mkdir" else 0.06):
            self.late.append((f"{name}: {what}", call))

    def repeat(self, kept):
        what, call = kept
        try:
            call()
            self.trace.append(f"late {what}")
        except Refused:
            self.trace.append(f"late {what} is refused")
        self.w.check()

    def settle(self):
        """After everything, a fresh run must find its way."""
        self.w.all_dead = True
        result = self.alone(Actor(self.w, "fresh", "abcdz", overwrite=True, replans=True))
        require(result == "done", "a fresh run fails", result)
        lost = set(self.w.done) - set(self.w.published) - self.w.replaced
        require(not lost, "an output that was reported as done was never there", lost)
        plain = self.w.fs.get(SUCCESS)
        ours = set(plain.files) | {"_SUCCESS", ".rowtocol"}
        left = [n for n in self.w.fs.dir(("D",)) if n not in ours]
        require(not left, "something is left after a fresh run", left)


def main(args):
    if args == ["mutants"]:
        print("\n".join(MUTANTS))
        return 0
    count, seed = int(args[0]), int(args[1]) if len(args) > 1 else 0
    mutant = args[2] if len(args) > 2 else ""
    require(not mutant or mutant in MUTANTS, "unknown mutant", mutant)
    broken = {}
    for i in range(count):
        s = Schedule(seed + i, mutant)
        try:
            s.run()
        except AssertionError as e:
            broken.setdefault(e.args[0], []).append((seed + i, e.args[1], s.trace))
            if mutant:
                break
    print(f"{i + 1} schedules:", ", ".join(f"{k} {len(v)}x" for k, v in broken.items()) or "no violation")
    for promise, found in broken.items():
        at, detail, trace = min(found, key=lambda v: len(v[2]))
        print(f"== {promise} (seed {at}): {detail}")
        print("\n".join("   " + line for line in trace[-80:]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
