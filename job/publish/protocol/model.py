"""Explores the rules by which processes share one destination (rules.py).

The driver runs actors call by call in a random order. It pauses them, kills them, lets
others take over the lock at any moment, loses answers, and carries out calls late or
again, as a network does. In some schedules a person damages staged files, or removes
increments. After every call the driver checks that:

  * the files that _SUCCESS and each counted increment list are there, with the right content;
  * no input is counted twice, and no number is given to two increments;
  * a published output stays until an output replaces it whose plan saw it and whose
    holder came later;
  * an output that was replaced, and is kept, has all its files until its time is over,
    and as long as there is a document that says so;
  * a finished task stays finished as long as the directory of its plan is there,
    and a pending manifest names the work that a holder took.

At the end a fresh run must succeed. After it, once the time of all kept outputs is over, and
after a clean, only its files are left.

usage: model.py SCHEDULES [SEED [MUTANT]]
       model.py mutants

A mutant is the protocol without one of its rules. "mutants" lists them, each with the
seed to begin with. The exit code is 1 if a schedule broke a promise. With a mutant,
the first such schedule ends the search.
"""

import random
import sys

sys.dont_write_bytecode = True

from rules import (  # noqa: E402
    LOCK, MUTANTS, SUCCESS, WORK, Actor, FileSystem, Overtaken, Refused, Unanswered,
    below, finished, increments, kept, require,
)  # fmt: skip

READS = {
    "check", "find", "list", "list increments", "list numbers", "list pending", "list plan", "list plans",
    "list work", "read lock", "read success", "stat", "whole",
}  # fmt: skip

# Few schedules fail without these rules. This is the seed of one.
RARE = {"mkdirghost": 11218, "newname": 10769, "keeps": 17008, "resumesdead": 4211, "marksafter": 10365}

# Names of calls that can break nothing that is checked, only staged work, and staged work
# among other things.
QUIET = READS | {"mkdir", "mkdir own", "put lock", "put mark", "put pending", "put success", "put keep", "stage plan"}
STAGING = {"stage", "stage result", "remove own", "remove other"}
MOVING = {"take", "fence", "drop", "put back", "discard", "withdraw", "remove", "remove pending", "trash"}


class World:
    """The file system, and the history for checking the promises."""

    def __init__(self, rng, times, mutant):
        self.times = times  # chance of its own, so that it does not change the other choices
        self.keeps = times.random() < 0.4  # whether actors keep replaced outputs
        self.clock = 0  # of the file system
        self.counting = {}  # id -> time when its output was counted last
        self.promised = {}  # id -> the document of a replaced output, and the time until which it is kept
        self.fs, self.rng, self.mutant = FileSystem(), rng, mutant
        self.names = 0
        self.holders = 0  # number of times that the lock was taken
        self.published = {}  # id -> document that was ever counted
        self.numbers = {}  # number -> id of its increment
        self.arrived = set()  # plans whose output the destination ever held
        self.plain = None  # the plain output that was counted last
        self.replaced = set()  # ids that published outputs replace
        self.removed = set()  # ids of increments that a person removed
        self.done = []  # ids of outputs that actors reported
        self.finished = []  # directories of plans, and their finished files
        self.begun = {}  # staged file -> when its attempt began
        self.damages = rng.random() < 0.25  # whether a person damages staged files
        self.removes = rng.random() < 0.4  # whether a person removes increments
        self.late_take = False  # whether a late call took the directory of a plan
        self.all_dead = False

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def looks_dead(self):
        """The worst case: any holder may look dead at any time."""
        return self.all_dead or self.rng.random() < 0.8

    def counted(self):
        """The documents that a reader follows, or None while it has to wait."""
        plain, added = self.fs.get(SUCCESS), increments(self.fs)
        self.arrived.update(d.plan.id for d in added)
        if plain:
            self.arrived.add(plain.plan.id)
        elif self.fs.get(LOCK) or self.waiting():
            return None
        base = plain.id if plain else None
        return ([plain] if plain else []) + [d for d in added if d.base == base]

    def waiting(self):
        """Whether an output is pending or retired."""
        names = ("pending", "retired")
        return any(n.startswith(names) for _, d in below(self.fs, WORK) for n in d)

    def check(self, what):
        """Checks the promises that a call may have broken."""
        if what in STAGING:
            return self.check_staged()
        if what in MOVING:
            self.check_staged()
            self.check_taken()
        now = self.counted()
        if now is not None:
            self.check_outputs(now)
        if self.keeps:
            self.check_kept(now)

    def check_kept(self, now):
        docs = [k.doc for k in kept(self.fs).values()] + [d for d, until in self.promised.values() if self.clock <= until]
        for d in docs:
            where = self.fs.get(d.home()) or {}
            lost = [n for task, n in enumerate(d.files) if where.get(n) != d.plan.content(task)]
            require(not lost or d.id in self.removed, "a kept output lost a file", lost)
        self.counting.update({d.id: self.clock for d in now or ()})

    def check_outputs(self, now):
        for d in now:
            where = self.fs.dir(d.home())
            for task, name in enumerate(d.files):
                require(where.get(name) == d.plan.content(task), "a listed file is missing or wrong", name)
            if d.id not in self.published:
                self.publish(d)
        inputs = [i for d in now for i in d.inputs]
        require(len(inputs) == len(set(inputs)), "an input is counted twice", sorted(inputs))
        ids = {d.id for d in now}
        gone = set(self.published) - ids - self.replaced - self.removed
        require(not gone, "a published output vanished", gone)
        require(not ids & self.replaced, "a replaced output is back", ids & self.replaced)

    def publish(self, d):
        self.published[d.id] = d
        self.replaced |= d.replaces
        if d.increment:
            require(d.seq > max(self.numbers, default=0), "a number is given twice", d.dirname())
            self.numbers[d.seq] = d.id
        else:
            require(not self.plain or self.plain.holder < d.holder, "an older output replaced a newer one", d.id)
            for id in d.replaces & self.counting.keys() if d.keep else ():
                self.promised[id] = self.published[id], self.counting[id] + d.keep
            self.plain = d

    def check_staged(self):
        """Finished tasks stay finished while their directory is in its place."""
        if self.damages or self.removed:
            return
        for name, d in self.fs.dir(WORK).items():
            if not name.startswith("plan-") or "plan" not in d:
                continue
            known = next((k for k in self.finished if k[0] is d), None)
            if known is None:
                known = (d, {})
                self.finished.append(known)
            known[1].update({n: d[n] for n in finished(d)})
            lost = [n for n, content in known[1].items() if d.get(n) != content]
            require(not lost, "a finished task lost its file", lost)

    def check_taken(self):
        """A pending manifest names the work that a holder took until it is published."""
        if self.late_take:
            return
        dirs = below(self.fs, WORK)
        work = {d["plan"].id for path, d in dirs if path[-1][:5] != "plan-" and "plan" in d and finished(d)}
        if work - self.arrived:
            named = {v.plan.id for _, d in dirs for n, v in d.items() if n.startswith("pending")}
            lost = work - self.arrived - named
            require(not lost, "no pending manifest names the work that was taken", lost)


class Schedule:
    """One random order of the calls of some actors."""

    def __init__(self, seed, mutant):
        self.rng = random.Random(seed)
        self.w = World(self.rng, random.Random(~seed), mutant)
        self.trace, self.late, self.live, self.later = [], [], {}, []

    def run(self):
        rng = self.rng
        if rng.random() < 0.8:
            self.first()
        requests = [rng.choice(["ab", "bc", "cd", "abcd", "b", "c"]) for _ in range(2)]
        for i in range(rng.choice([2, 3, 3, 4])):
            actor = Actor(
                self.w,
                f"actor{i}",
                rng.choice(["convert", "convert", "submit", "submit", "commit", "task", "task", "clean"]),
                rng.choice(requests),
                incremental=rng.random() < 0.5,
                overwrite=rng.random() < 0.7,
                restart=rng.random() < 0.2,
                memory=rng.choice([1, 1, 2]),
                keep=self.w.times.choice([0, 5, 20]) if self.w.keeps else 0,
            )
            self.later.append(actor)
        self.interleave()
        while self.late:
            self.repeat(self.late.pop())
        self.settle()

    def first(self):
        require(self.alone(Actor(self.w, "first", "convert", "a")) == "done", "the first run failed", "")
        if self.rng.random() < 0.4:
            self.alone(Actor(self.w, "second", "convert", "ab", incremental=True))
        self.w.check("first")

    def alone(self, actor):
        """Runs an actor to its end while no other runs."""
        steps, checked = actor.run(), self.w.all_dead
        try:
            what, call = next(steps)
            while True:
                try:
                    answer = call()
                except Refused as e:
                    what, call = steps.throw(e)
                else:
                    if checked and what not in QUIET:
                        self.w.check(what)
                    what, call = steps.send(answer)
        except StopIteration as end:
            return end.value
        except (Refused, Overtaken) as e:
            return f"error: {e}"

    def interleave(self):
        rng = self.rng
        for _ in range(4000):
            if not self.live and not self.later:
                return
            if self.later and (not self.live or rng.random() < 0.05):
                self.start(self.later.pop())
                speed = {n: rng.random() ** 2 for n in self.live}
            if rng.random() < 0.02:
                speed = {n: rng.random() ** 3 for n in self.live}
            if self.late and rng.random() < 0.03:
                self.repeat(self.late.pop(rng.randrange(len(self.late))))
                continue
            self.disturb()
            if self.w.keeps and self.w.times.random() < 0.1:
                self.w.clock += self.w.times.choice([1, 1, 5, 30])
            name = rng.choices(list(self.live), [speed[n] + 1e-6 for n in self.live])[0]
            if rng.random() < 0.01:
                self.kill(name)
            else:
                self.step(name)

    def start(self, actor):
        steps = actor.run()
        self.live[f"{actor.name} {actor.kind}"] = [steps, next(steps)]

    def kill(self, name):
        """Ends an actor. Its call under way may be carried out later."""
        _, (what, call) = self.live.pop(name)
        self.trace.append(f"{name} is killed before {what}")
        if what not in READS and self.rng.random() < 0.5:
            self.late.append((f"{name}: {what}", call))

    def disturb(self):
        """Lets a person damage a staged file, or remove an increment."""
        rng, fs = self.rng, self.w.fs
        if self.w.damages and rng.random() < 0.01:
            plans = [n for n in fs.dir(WORK) if n.startswith("plan-")]
            files = [(p, n) for p in plans for n in fs.dir(WORK + (p,)) if n != "plan"]
            if files:
                where, name = rng.choice(files)
                fs.put(WORK + (where, name), "damaged") if rng.random() < 0.5 else fs.remove(WORK + (where, name))
                self.trace.append(f"a person damages {name}")
        if self.w.removes and rng.random() < 0.03:
            docs = increments(fs)
            if docs:
                self.w.removed.add(docs[-1].id)
                fs.remove(("D", docs[-1].dirname()))
                self.trace.append(f"a person removes {docs[-1].dirname()}")

    def step(self, name):
        steps, (what, call) = self.live[name]
        try:
            try:
                if what not in READS and self.rng.random() < 0.015:
                    self.lose_answer(name, what, call)
                answer = call()
            except Refused as e:
                self.trace.append(f"{name}: {what} is refused: {e}")
                self.live[name][1] = steps.throw(e)
            except Unanswered as e:
                self.live[name][1] = steps.throw(e)
            else:
                self.trace.append(f"{name}: {what}")
                if what not in READS:
                    self.keep_call(name, what, call)
                if what not in QUIET:
                    self.w.check(what)
                self.live[name][1] = steps.send(answer)
        except StopIteration as end:
            self.trace.append(f"{name} ends: {end.value}")
            del self.live[name]
        except (Refused, Overtaken, Unanswered) as e:
            self.trace.append(f"{name} fails: {type(e).__name__} {e}")
            del self.live[name]

    def lose_answer(self, name, what, call):
        """Loses the answer of a call, which is carried out now, late, or never."""
        self.trace.append(f"{name}: {what} gets no answer")
        late = (f"{name}: {what}", call)
        when = self.rng.randrange(3)
        if when == 0:
            self.repeat(late)
        elif when == 1:
            self.late.append(late)
        raise Unanswered

    def keep_call(self, name, what, call):
        """Keeps some calls to carry them out again late. A file in a holder's directory is
        written under a unique name and then renamed, so a late write has no effect. Nor
        has a late mkdir, which is tried only once under each name."""
        if what.startswith("put"):
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
            self.w.late_take |= what.endswith(": take")
        except Refused:
            self.trace.append(f"late {what} is refused")
        self.w.check(what.split(": ")[1])

    def settle(self):
        """In the end, a fresh run must succeed and leave only its files."""
        w, fs = self.w, self.w.fs
        w.all_dead = True
        fresh = Actor(w, "fresh", "convert", "abcdz", overwrite=True)
        result = self.alone(fresh)
        require(result == "done", "a fresh run failed", result)
        lost = set(w.done) - set(w.published) - w.replaced - w.removed
        require(not lost, "an output that was reported as done was never there", lost)
        plain = fs.get(SUCCESS)
        ours = set(plain.files) | {"_SUCCESS", ".rowtocol"}
        left = [n for n in fs.dir(("D",)) if n not in ours and not n.startswith("_increments-") and n.rpartition("-")[2] not in kept(fs)]
        require(not left, "something is left after a fresh run", left)
        require(self.alone(Actor(w, "next", "convert", "abcdz")) == "nothing", "a second run found something to do", "")
        dead = [n for n, d in fs.dir(WORK).items() if n.startswith("plan-") and "plan" in d]
        require(not dead, "a dead plan is left after the next run", dead)
        w.clock += 100
        require(self.alone(Actor(w, "last", "clean")) == "clean", "a clean failed", "")
        left = [*fs.dir(WORK), *(n for n in fs.dir(("D",)) if n not in ours and not n.startswith("_increments-"))]
        require(not left, "something is left after a clean", left)


def main(args):
    if args == ["mutants"]:
        print("\n".join(f"{mutant} {RARE.get(mutant, 0)}" for mutant in MUTANTS))
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
