"""A model of the rules by which processes share one destination.

Actors convert into a toy file system. The driver runs them call by call in a
random order, pauses them, kills them, lets others take the lock over at any
moment, and carries calls out again or late, as a network does. In some schedules
somebody damages staged files, or removes increments by hand. After every call the
driver checks:

  * what _SUCCESS and each counted increment list is there, with the right content;
  * no input is counted twice, and no number is given to two increments;
  * what was once published stays, until an output replaces it whose plan saw it
    and whose holder came later;
  * a finished task stays finished as long as the directory of its plan is there,
    and the work that a holder took is named by a pending manifest.

At the end a fresh run must succeed, and after it and a clean only its files are left.

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
    "fenceplans": "a new holder moves the directories of plans as well",
    "mkdirghost": "a holder's directory may be made again later, under its name",
    "retry": "a retired manifest gets a name that was used before",
    "dropsfailed": "a holder that fails removes its directory, and a pending manifest with it",
    "keeps": "a pending manifest stays after it was carried out",
    "blind": "a replacing plan is not compared with what the destination holds",
    "baseonly": "a replacing plan is compared with the plain output, but not with the increments",
    "baseless": "an incremental plan is not compared with the plain output",
    "twice": "an incremental plan is not compared with the inputs that were committed since",
    "direct": "an output is published straight out of the directory of its plan",
    "early": "the directory of a plan is taken before its pending manifest exists",
    "nowhole": "staged files are not checked again once their directory is taken",
    "forgetful": "an output that cannot be completed is withdrawn before its work is put back",
    "remembered": "a commit trusts what its process remembers of results",
    "nononce": "a restarted plan keeps its ID",
    "resumesdead": "a plan is resumed whose base is gone",
    "keepsdead": "nobody removes plans whose base is gone",
    "rootdrop": "the directory of a plan is renamed in its place before it is removed",
    "cleansfiles": "clean removes staged files one by one",
    "samename": "all attempts of a task stage under one name",
    "tidies": "an attempt removes the file of the result that it replaces",
    "removeslate": "an attempt removes its file after its result is written",
    "nomarker": "the last number of an increment is not remembered",
    "marksafter": "the last number of an increment is remembered after it is published",
}

WORK = ("D", ".rowtocol")
LOCK = ("D", "_lock")
SUCCESS = ("D", "_SUCCESS")
TASKS = range(2)


class Refused(Exception):
    """The file system refuses: no source, no parent, or the target exists."""


class Overtaken(Exception):
    """The lock is another actor's now."""


class Unanswered(Exception):
    """A call got no answer. It was carried out, or it will be, or it never is."""


class FileSystem:
    """A tree of dictionaries. No rename overwrites."""

    def __init__(self):
        self.root = {"D": {".rowtocol": {}}}

    def dir(self, path):
        node = self.root
        for name in path:
            node = node.get(name)
            if type(node) is not dict:
                raise Refused("no " + "/".join(path))
        return node

    def get(self, path):
        node = self.root
        for name in path:
            if type(node) is not dict:
                return None
            node = node.get(name)
        return node

    def list(self, path):
        """A copy of a directory; an empty one if there is none."""
        node = self.get(path)
        return dict(node) if isinstance(node, dict) else {}

    def mkdir(self, path):
        parent = self.dir(path[:-1])
        if path[-1] in parent:
            raise Refused("exists: " + "/".join(path))
        parent[path[-1]] = {}

    def put(self, path, content):
        """Writes a whole file, by a temporary name in the actor's own directory."""
        self.dir(path[:-1])[path[-1]] = content

    def stage(self, path, content):
        """Writes a whole file below WORK, and makes its directory if that is gone."""
        self.dir(WORK).setdefault(path[-2], {})[path[-1]] = content

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


class Plan:
    """What is to be made, and what of the destination it saw. It never changes."""

    def __init__(self, inputs, increment, sees, memory, nonce=""):
        self.inputs, self.increment, self.sees = frozenset(inputs), increment, frozenset(sees)
        self.memory, self.nonce = memory, nonce
        kind = "increment" if increment else "output"
        self.id = ",".join([kind, *sorted(inputs), *sorted(sees), str(memory), nonce])
        self.dir = WORK + ("plan-" + self.id,)

    def content(self, task):
        """The bytes of a task depend on nothing else."""
        return f"{task} of {self.id}"


class Document:
    """The manifest of an output or of an increment; it never changes."""

    def __init__(self, id, plan, files, seq, holder):
        self.id, self.plan, self.files, self.seq, self.holder = id, plan, files, seq, holder
        self.inputs, self.increment = plan.inputs, plan.increment
        self.replaces = frozenset() if plan.increment else plan.sees
        self.base = next(iter(plan.sees), None) if plan.increment else None

    def dirname(self):
        return f"increment-{self.seq:08}-{self.id}"


class World:
    """The file system, and what the promises are checked against."""

    def __init__(self, rng, mutant):
        self.fs, self.rng, self.mutant = FileSystem(), rng, mutant
        self.names = 0
        self.holders = 0  # how often the lock was taken
        self.published = {}  # id -> document that was once counted
        self.numbers = {}  # number -> id of the increment that has it
        self.arrived = set()  # plans of which the destination ever held an output
        self.plain = None  # the plain output that was counted last
        self.replaced = set()  # ids that published outputs replace
        self.removed = set()  # ids of increments that were removed by hand
        self.done = []  # ids of outputs that actors reported
        self.finished = []  # directories of plans, and their finished files
        self.begun = {}  # staged file -> when its attempt began
        self.vandal = rng.random() < 0.25
        self.janitor = rng.random() < 0.4
        self.stray = False  # a late call took the directory of a plan
        self.all_dead = False

    def fresh(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def looks_dead(self):
        """The worst case: any holder may be taken for dead at any time."""
        return self.all_dead or self.rng.random() < 0.8

    def counted(self):
        """The documents that a reader follows; None while it has to wait."""
        plain, beside = self.fs.get(SUCCESS), increments(self.fs)
        self.arrived.update(d.plan.id for d in beside)
        if plain:
            self.arrived.add(plain.plan.id)
        elif self.fs.get(LOCK) or self.waiting():
            return None
        base = plain.id if plain else None
        return ([plain] if plain else []) + [d for d in beside if d.base == base]

    def waiting(self):
        """Whether an output waits to be published, or was retired."""
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

    def check_outputs(self, now):
        for d in now:
            where = self.fs.dir(("D", d.dirname()) if d.increment else ("D",))
            for task, name in enumerate(d.files):
                require(where.get(name) == d.plan.content(task), "a listed file is missing or another", name)
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
            self.plain = d

    def check_staged(self):
        """Finished tasks stay finished while their directory is in its place."""
        if self.vandal or self.removed:
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
        """What a holder took is named by a pending manifest until it is published."""
        if self.stray:
            return
        dirs = below(self.fs, WORK)
        work = {d["plan"].id for path, d in dirs if path[-1][:5] != "plan-" and "plan" in d and finished(d)}
        if work - self.arrived:
            named = {v.plan.id for _, d in dirs for n, v in d.items() if n.startswith("pending")}
            lost = work - self.arrived - named
            require(not lost, "nobody will find the work that was taken", lost)


def require(holds, promise, detail):
    if not holds:
        raise AssertionError(promise, detail)


def finished(d):
    """The sound files of a plan's directory that results name."""
    return {v for n, v in d.items() if n.startswith("result") and v in d and d[v] == d["plan"].content(n[6:])}


def below(fs, path):
    """Every directory at and below a path, but for what was moved out of the way."""
    node = fs.get(path)
    dirs = [(path, node)] if node else []
    for path, node in dirs:
        dirs += [(path + (n,), d) for n, d in node.items() if type(d) is dict and not n.startswith(("old-", "trash-"))]
    return dirs


def increments(fs):
    """The documents of the increments in the destination, by their numbers."""
    dirs = [v for n, v in fs.dir(("D",)).items() if n.startswith("increment-")]
    return sorted((d["_SUCCESS"] for d in dirs if "_SUCCESS" in d), key=lambda d: d.seq)


def markers(fs):
    """The numbers of the increments that came last."""
    return [int(n[12:]) for n in fs.dir(("D",)) if n.startswith("_increments-")]


def ids(docs):
    return frozenset(d.id for d in docs if d)


def inputs_of(docs):
    return frozenset(i for d in docs if d for i in d.inputs)


class Actor:
    """One process. Each method is a generator that yields (name, call) for every call
    to the file system; the driver carries it out and sends the answer. Its kinds:

      convert  plans, runs the tasks and commits, all under the lock
      submit   plans and runs the tasks without the lock, then commits under it
      commit   plans without the lock, and commits what others staged
      task     plans and runs the tasks, without the lock
      clean    removes what is left
    """

    def __init__(self, world, name, kind, inputs="", incremental=False, overwrite=False, restart=False, memory=1):
        self.w, self.fs, self.name, self.kind = world, world.fs, name, kind
        self.inputs, self.incremental, self.overwrite = frozenset(inputs), incremental, overwrite
        self.restart, self.memory = restart, memory
        self.began = 0  # when it planned
        self.remembers = {}  # task -> the file that it staged or found
        self.moves = 0
        self.rename_self()

    def rename_self(self):
        self.id = self.w.fresh("h")
        self.dir = WORK + (self.id,)

    def new(self, prefix):
        """A path in its directory that was never used."""
        return self.dir + (self.w.fresh(prefix),)

    def run(self):
        plan = None
        if self.kind in ("submit", "commit", "task"):
            plan = yield from self.plan((yield from self.look()))
            if isinstance(plan, str):
                return plan
            if self.kind != "commit":
                yield from self.tasks(plan)
            if self.kind == "task":
                return "staged"
        yield ("mkdir", lambda dir=self.dir: self.fs.mkdir(dir))
        if not (yield from self.acquire()):
            return "locked"
        self.holder = self.w.holders
        try:
            yield from self.fence()
            yield from self.roll_forward()
            result = yield from self.work(plan)
        except Unanswered:
            yield from self.release(self.w.mutant != "dropsfailed")
            return "failed"
        yield from self.release()
        return result

    # The lock.

    def acquire(self):
        for _ in range(6):
            mine = self.new("lock")
            try:
                yield ("put lock", lambda: self.fs.put(mine, self.id))
            except Refused:  # a new holder moved this one's directory
                self.rename_self()
                yield ("mkdir", lambda dir=self.dir: self.fs.mkdir(dir))
                continue
            try:
                yield ("lock", lambda mine=mine: self.fs.rename(mine, LOCK))
                self.w.holders += 1
                return True
            except Refused:
                pass
            held = yield ("read lock", lambda: self.fs.get(LOCK))
            if held is None:
                continue
            if not self.w.looks_dead():
                return False
            yield from self.attempt("take over", LOCK, self.new("stale"))
        return False

    def attempt(self, what, source, target):
        """A rename that may find nothing to do."""
        try:
            yield (what, lambda: self.fs.rename(source, target))
            return True
        except Refused:
            return False

    def check_lock(self):
        if not (yield ("check", lambda: self.fs.get(LOCK) == self.id)):
            raise Overtaken

    def check_sometimes(self):
        """Looks at the lock before every third change only: the fence keeps the promises."""
        self.moves += 1
        if self.moves % 3 == 0:
            yield from self.check_lock()

    def move(self, what, source, target):
        yield from self.check_sometimes()
        yield (what, lambda: self.fs.rename(source, target))

    def move_if_there(self, what, source, target):
        yield from self.check_sometimes()
        return (yield from self.attempt(what, source, target))

    def fence(self):
        kept = ("trash-",) if self.w.mutant == "fenceplans" else ("trash-", "plan-")
        others = yield ("list work", lambda: [n for n in self.fs.dir(WORK) if n != self.id and not n.startswith(kept)])
        for n in others:
            if self.w.mutant != "nofence":
                yield from self.move_if_there("fence", WORK + (n,), self.dir + ("fenced-" + n,))

    def release(self, keep=False):
        """Gives the lock back, and removes the actor's directory unless something in
        it may wait for the next holder."""
        yield from self.check_lock()
        yield from self.attempt("release", LOCK, self.new("released"))
        if keep:
            return
        trash = WORK + ("trash-" + self.id,)
        try:
            yield ("trash", lambda: self.fs.rename(self.dir, trash))
            yield ("remove", lambda: self.fs.remove(trash))
        except Refused:
            pass

    # What the destination holds, and what a plan makes of that.

    def look(self):
        """The plain output, if there is one, and the increments that count."""
        plain = yield ("read success", lambda: self.fs.get(SUCCESS))
        base = plain.id if plain else None
        beside = yield ("list increments", lambda: [d for d in increments(self.fs) if d.base == base])
        return ([plain] if plain else []) + beside

    def plan(self, now):
        """The plan of the request, or why there is nothing to do."""
        self.began, self.saw = self.w.names, ids(now)
        base = ids(d for d in now if not d.increment)
        if self.incremental:
            inputs = self.inputs - inputs_of(now)
            if not inputs:
                return "nothing"
            plan = Plan(inputs, True, base, self.memory)
        else:
            if len(now) == 1 and base and now[0].inputs == self.inputs:
                return "nothing"
            if now and not self.overwrite:
                return "other"
            plan = Plan(self.inputs, False, ids(now), self.memory)
        fit = [d for d in (yield ("list plans", self.staged_plans)) if self.fits(d["plan"], plan)]
        if self.restart:
            if self.kind == "convert":
                for d in fit:
                    yield from self.drop(d["plan"].dir)
            nonce = "" if self.w.mutant == "nononce" else self.w.fresh("n")
            return Plan(plan.inputs, plan.increment, plan.sees, self.memory, nonce)
        return max(fit, key=lambda d: len(finished(d)))["plan"] if fit else plan

    def staged_plans(self):
        """The directories of plans that hold their plan."""
        return [dict(d) for n, d in self.fs.dir(WORK).items() if n.startswith("plan-") and "plan" in d]

    def fits(self, staged, plan):
        """Whether a plan whose tasks staged files can be resumed in place of another."""
        base = staged.sees == plan.sees or self.w.mutant == "resumesdead"
        return base and staged.inputs == plan.inputs and staged.increment == plan.increment and staged.memory <= plan.memory

    def outdated(self, plan, now):
        """Whether a plan can never be committed, for what the destination holds."""
        plain = [d for d in now if not d.increment]
        if plan.increment:
            if self.w.mutant == "baseless":
                return False
            return ids(plain) != plan.sees or self.w.mutant != "twice" and bool(plan.inputs & inputs_of(now))
        if self.w.mutant == "blind":
            return False
        return bool(ids(plain if self.w.mutant == "baseonly" else now) - plan.sees)

    # Tasks, with or without the lock.

    def tasks(self, plan):
        if (yield ("stat", lambda: self.fs.get(plan.dir + ("plan",)))) is None:
            yield ("stage plan", lambda: self.fs.stage(plan.dir + ("plan",), plan))
        for task in TASKS:
            before = yield ("stat", lambda: self.fs.get(plan.dir + (f"result{task}",)))
            if before and (yield ("stat", lambda: self.fs.get(plan.dir + (before,)))) == plan.content(task):
                self.remembers[task] = before
                continue
            if self.w.rng.random() < 0.15:  # an attempt that fails
                torn = yield from self.stage(plan, task, "torn")
                yield ("remove own", lambda torn=torn: self.remove_staged(plan, torn))
            self.remembers[task] = mine = yield from self.stage(plan, task, plan.content(task))
            result = plan.dir + (f"result{task}",)
            yield ("stage result", lambda result=result, mine=mine: self.fs.stage(result, mine))
            if before and self.w.mutant == "tidies":
                yield ("remove other", lambda before=before: self.remove_staged(plan, before))
            if self.w.mutant == "removeslate" and self.w.rng.random() < 0.1:
                yield ("remove own", lambda mine=mine: self.remove_staged(plan, mine))

    def stage(self, plan, task, content):
        name = f"staged{task}-" + ("" if self.w.mutant == "samename" else self.w.fresh(""))
        self.w.begun[name] = self.w.names
        yield ("stage", lambda: self.fs.stage(plan.dir + (name,), content))
        return name

    def remove_staged(self, plan, name):
        try:
            self.fs.remove(plan.dir + (name,))
        except Refused:
            pass

    # The work under the lock.

    def work(self, plan):
        now = yield from self.look()
        yield from self.drop_dead(now)
        if self.kind == "clean":
            return (yield from self.clean())
        if self.kind == "convert":
            plan = yield from self.plan(now)
            if isinstance(plan, str):
                return plan
            yield from self.tasks(plan)
        if any(d.plan.id == plan.id for d in now):
            return "nothing"
        if self.outdated(plan, now):
            require(ids(now) != self.saw, "a plan is refused though nothing changed", plan.id)
            return "changed"
        return (yield from self.commit(plan))

    def drop(self, dir):
        """Removes the directory of a plan."""
        if self.w.mutant == "rootdrop":
            trash = WORK + (self.w.fresh("trash-"),)
            yield from self.move_if_there("drop", dir, trash)
            yield ("remove", lambda: self.fs.remove(trash))
        else:
            yield from self.move_if_there("drop", dir, self.new("old-"))

    def drop_dead(self, now):
        for d in (yield ("list plans", self.staged_plans)):
            if self.outdated(d["plan"], now) and self.w.mutant != "keepsdead":
                yield from self.drop(d["plan"].dir)

    def clean(self):
        names = yield ("list work", lambda: list(self.fs.dir(WORK)))
        for n in names:
            if n.startswith("trash-"):
                yield ("remove", lambda n=n: self.fs.remove(WORK + (n,)))
            if not n.startswith("plan-") or not self.w.looks_dead():  # too young
                continue
            if self.w.mutant == "cleansfiles":
                for file in (yield ("list plan", lambda n=n: self.fs.list(WORK + (n,)))):
                    yield ("remove", lambda n=n, file=file: self.fs.remove(WORK + (n, file)))
            yield from self.drop(WORK + (n,))
        return "clean"

    def commit(self, plan):
        staged = yield from self.results(plan)
        if staged is None:
            return "missing"
        id = self.w.fresh("o")
        files = {f"part{task}-{id}": name for task, name in staged.items()}
        numbers = yield ("list numbers", lambda: [d.seq for d in increments(self.fs)] + markers(self.fs))
        plain = yield ("read success", lambda: self.fs.get(SUCCESS))
        doc = Document(id, plan, files, max([0, *numbers, plain.seq if plain else 0]) + 1, self.holder)
        yield from self.check_lock()
        if self.w.mutant == "early":
            yield from self.take(plan)
        pending = self.dir + ("pending-" + id,)
        yield ("put pending", lambda: self.fs.put(pending, doc))
        if not (yield from self.publish(doc, pending)):
            return "lost"
        if self.restart and self.kind != "commit":
            old = [n for n in staged.values() if self.w.begun[n] < self.began]
            require(not old, "a restarted run published work of before", old)
        self.w.done.append(id)
        return "done"

    def results(self, plan):
        """The staged file of each task, or None if a task is not done."""
        listed = yield ("list plan", lambda: self.fs.list(plan.dir))
        staged = {}
        for task in TASKS:
            if self.w.mutant == "remembered" and task in self.remembers:
                staged[task] = self.remembers[task]
                continue
            name = listed.get(f"result{task}", "")
            if (yield ("stat", lambda: self.fs.get(plan.dir + (name,)))) != plan.content(task):
                return None
            staged[task] = name
        return staged

    # The steps of publishing; each finds out whether it was done before.

    def publish(self, doc, pending):
        steps = self.publish_increment if doc.increment else self.publish_output
        return (yield from steps(doc, pending))

    def publish_output(self, doc, pending):
        if not (yield from self.gather(doc, ("D",), pending)):
            return False
        plain = yield ("read success", lambda: self.fs.get(SUCCESS))
        if plain and plain.id != doc.id:
            yield from self.move("retire", SUCCESS, self.dir + ("retired",) if self.w.mutant == "retry" else self.new("retired"))
        if not (yield from self.bring_in(doc, ("D",))):
            return False
        yield from self.move_old_out(doc)
        if not (yield ("read success", lambda: self.fs.get(SUCCESS))):
            yield from self.put_and_move("success", doc, SUCCESS)
        return True

    def publish_increment(self, doc, pending):
        target = ("D", doc.dirname())
        if (yield ("stat", lambda: self.fs.get(target))) is None:
            home = self.new("assembled")
            if not (yield from self.gather(doc, home, pending)):
                return False
            yield ("mkdir own", lambda: self.fs.mkdir(home))
            if not (yield from self.bring_in(doc, home)):
                return False
            yield ("put success", lambda: self.fs.put(home + ("_SUCCESS",), doc))
            if self.w.mutant not in ("marksafter", "nomarker"):
                yield from self.mark(doc.seq)
            yield from self.move("increment", home, target)
        if self.w.mutant == "marksafter":
            yield from self.mark(doc.seq)
        for n in (yield ("list numbers", lambda: markers(self.fs))):
            if n < doc.seq:
                yield from self.move_if_there("unmark", ("D", f"_increments-{n}"), self.new("old-"))
        return True

    def mark(self, seq):
        if seq not in (yield ("list numbers", lambda: markers(self.fs))):
            yield from self.put_and_move("mark", seq, ("D", f"_increments-{seq}"))

    def put_and_move(self, what, content, target):
        written = self.new(what)
        yield ("put " + what, lambda: self.fs.put(written, content))
        yield from self.move(what, written, target)

    def gather(self, doc, home, pending):
        """Takes the directory of the plan, and checks that every file is there. If one
        is not, puts the directory back and withdraws the pending manifest."""
        if self.w.mutant != "direct" and not (yield ("whole", lambda: self.whole(doc, home))):
            yield from self.take(doc.plan)
        if self.w.mutant == "nowhole" or (yield ("whole", lambda: self.whole(doc, home))):
            return True
        yield from self.check_lock()
        blamed = self.w.vandal or self.w.stray or doc.id in self.w.removed
        require(blamed or self.fs.get(self.dir) is None, "finished work vanished before it was taken", doc.id)
        if self.w.mutant == "forgetful":
            yield from self.move("withdraw", pending, self.new("withdrawn"))
        name = doc.plan.dir[-1][5:]
        taken = yield ("find", lambda: [p for p, _ in below(self.fs, self.dir) if p[-1].startswith("taken") and p[-1].endswith(" " + name)])
        for path in taken:
            if not (yield from self.move_if_there("put back", path, doc.plan.dir)):
                yield from self.move_if_there("discard", path, self.new("old-"))
        yield from self.move_if_there("withdraw", pending, self.new("withdrawn"))
        return False

    def take(self, plan):
        yield from self.check_lock()
        yield from self.attempt("take", plan.dir, self.dir + (self.w.fresh("taken") + " " + plan.dir[-1][5:],))

    def whole(self, doc, home):
        for task, (name, staged) in enumerate(doc.files.items()):
            at = self.fs.get(home + (name,)) and home + (name,) or self.find(doc, name) or self.find(doc, staged)
            if at is None or self.fs.get(at) != doc.plan.content(task):
                return False
        return True

    def find(self, doc, name):
        for path, d in below(self.fs, self.dir):
            if name in d:
                return path + (name,)
        if self.w.mutant == "direct" and self.fs.get(doc.plan.dir + (name,)):
            return doc.plan.dir + (name,)
        return None

    def bring_in(self, doc, home):
        for name, staged in doc.files.items():
            if (yield ("stat", lambda: self.fs.get(home + (name,)))) is None:
                source = yield ("find", lambda: self.find(doc, name) or self.find(doc, staged))
                if source is None:
                    return False
                yield from self.move("move in", source, home + (name,))
        return True

    def move_old_out(self, doc):
        """Moves out what is not part of the plain output, or of anything without one."""
        files = doc.files if doc else ()
        old = yield (
            "list",
            lambda: [
                n
                for n, v in self.fs.dir(("D",)).items()
                if n.startswith("part") and n not in files
                or doc and n.startswith("increment-") and v.get("_SUCCESS") and v["_SUCCESS"].base != doc.id
            ],
        )
        for n in old:
            yield from self.move_if_there("old out", ("D", n), self.new("old-"))

    def roll_forward(self):
        waiting = yield (
            "list pending",
            lambda: [(v, p + (n,)) for p, d in below(self.fs, self.dir) for n, v in d.items() if n.startswith("pending")],
        )
        for doc, path in sorted(waiting, key=lambda w: w[0].seq):
            now = yield from self.look()
            plain = next((d for d in now if not d.increment), None)
            if doc.increment:
                passed = doc.base != (plain.id if plain else None)
            else:
                passed = plain and (plain.id == doc.id or plain.seq >= doc.seq)
            if not passed:
                yield from self.publish(doc, path)
            if self.w.mutant != "keeps":
                yield ("remove pending", lambda path=path: self.fs.remove(path))
        now = yield from self.look()
        yield from self.move_old_out(next((d for d in now if not d.increment), None))


READS = {
    "check", "find", "list", "list increments", "list numbers", "list pending", "list plan", "list plans",
    "list work", "read lock", "read success", "stat", "whole",
}  # fmt: skip


QUIET = READS | {"mkdir", "mkdir own", "put lock", "put mark", "put pending", "put success", "stage plan"}
STAGING = {"stage", "stage result", "remove own", "remove other"}
MOVING = {"take", "fence", "drop", "put back", "discard", "withdraw", "remove", "remove pending", "trash"}


class Schedule:
    """One random order of the calls of some actors."""

    def __init__(self, seed, mutant):
        self.rng = random.Random(seed)
        self.w = World(self.rng, mutant)
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
        """Runs an actor to its end with nothing beside it."""
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
            name = rng.choices(list(self.live), [speed[n] + 1e-6 for n in self.live])[0]
            if rng.random() < 0.01:
                self.kill(name)
            else:
                self.step(name)

    def start(self, actor):
        steps = actor.run()
        self.live[f"{actor.name} {actor.kind}"] = [steps, next(steps)]

    def kill(self, name):
        """Ends an actor. What it had under way may be carried out later."""
        _, (what, call) = self.live.pop(name)
        self.trace.append(f"{name} is killed before {what}")
        if what not in READS and self.rng.random() < 0.5:
            self.late.append((f"{name}: {what}", call))

    def disturb(self):
        """Lets others damage what is staged, or remove an increment."""
        rng, fs = self.rng, self.w.fs
        if self.w.vandal and rng.random() < 0.01:
            plans = [n for n in fs.dir(WORK) if n.startswith("plan-")]
            files = [(p, n) for p in plans for n in fs.dir(WORK + (p,)) if n != "plan"]
            if files:
                where, name = rng.choice(files)
                fs.put(WORK + (where, name), "damaged") if rng.random() < 0.5 else fs.remove(WORK + (where, name))
                self.trace.append(f"somebody damages {name}")
        if self.w.janitor and rng.random() < 0.03:
            docs = increments(fs)
            if docs:
                self.w.removed.add(docs[-1].id)
                fs.remove(("D", docs[-1].dirname()))
                self.trace.append(f"somebody removes {docs[-1].dirname()}")

    def step(self, name):
        steps, (what, call) = self.live[name]
        try:
            try:
                if what not in READS and self.rng.random() < 0.004:
                    self.lose(name, what, call)
                answer = call()
            except Refused as e:
                self.trace.append(f"{name}: {what} is refused: {e}")
                self.live[name][1] = steps.throw(e)
            except Unanswered as e:
                self.live[name][1] = steps.throw(e)
            else:
                self.trace.append(f"{name}: {what}")
                if what not in READS:
                    self.keep(name, what, call)
                if what not in QUIET:
                    self.w.check(what)
                self.live[name][1] = steps.send(answer)
        except StopIteration as end:
            self.trace.append(f"{name} ends: {end.value}")
            del self.live[name]
        except (Refused, Overtaken, Unanswered) as e:
            self.trace.append(f"{name} fails: {type(e).__name__} {e}")
            del self.live[name]

    def lose(self, name, what, call):
        """Loses the answer of a call, which is carried out now, late, or never."""
        self.trace.append(f"{name}: {what} gets no answer")
        late = (f"{name}: {what}", call)
        when = self.rng.randrange(3)
        if when == 0:
            self.repeat(late)
        elif when == 1:
            self.late.append(late)
        raise Unanswered

    def keep(self, name, what, call):
        """Keeps some calls to be carried out again late. In a holder's directory a file
        is written by a name of its own and then renamed, so late writes find no source;
        so does a mkdir of which no second try is made under one name."""
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
            self.w.stray |= what.endswith(": take")
        except Refused:
            self.trace.append(f"late {what} is refused")
        self.w.check(what.split(": ")[1])

    def settle(self):
        """After everything, a fresh run must find its way."""
        w, fs = self.w, self.w.fs
        w.all_dead = True
        fresh = Actor(w, "fresh", "convert", "abcdz", overwrite=True)
        result = self.alone(fresh)
        require(result == "done", "a fresh run fails", result)
        lost = set(w.done) - set(w.published) - w.replaced - w.removed
        require(not lost, "an output that was reported as done was never there", lost)
        plain = fs.get(SUCCESS)
        ours = set(plain.files) | {"_SUCCESS", ".rowtocol"}
        left = [n for n in fs.dir(("D",)) if n not in ours and not n.startswith("_increments-")]
        require(not left, "something is left after a fresh run", left)
        require(self.alone(Actor(w, "next", "convert", "abcdz")) == "nothing", "a second run finds something to do", "")
        dead = [n for n, d in fs.dir(WORK).items() if n.startswith("plan-") and "plan" in d]
        require(not dead, "a dead plan is left after the next run", dead)
        require(self.alone(Actor(w, "last", "clean")) == "clean", "a clean fails", "")
        require(not fs.dir(WORK), "something is left after a clean", list(fs.dir(WORK)))


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
