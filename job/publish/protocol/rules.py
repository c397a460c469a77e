"""The rules by which processes share one destination: the calls of each process to a
simple file system. model.py explores them.

A mutant is the protocol without one of its rules.
"""

MUTANTS = {
    "nofence": "a new holder leaves the directories of former holders in their places",
    "fenceplans": "a new holder moves the directories of plans as well",
    "mkdirghost": "a holder's directory may be made again later, under its name",
    "retry": "a retired manifest gets a name that was used before",
    "newname": "a rename without an answer is repeated with another target",
    "dropsfailed": "a holder that fails removes its directory, and a pending manifest with it",
    "keeps": "a pending manifest stays after it was carried out",
    "blind": "a replacing plan is not compared with what the destination holds",
    "baseonly": "a replacing plan is compared with the plain output, but not with the increments",
    "baseless": "an incremental plan is not compared with the plain output",
    "twice": "an incremental plan is not compared with the inputs that were committed since",
    "direct": "an output is published directly from the directory of its plan",
    "early": "the directory of a plan is taken before its pending manifest exists",
    "nowhole": "staged files are not checked again once their directory is taken",
    "forgetful": "an output that cannot be completed is withdrawn before its work is put back",
    "remembered": "a commit uses the results that its process remembers",
    "nononce": "a restarted plan keeps its ID",
    "resumesdead": "a plan is resumed whose base is gone",
    "keepsdead": "plans whose base is gone are not removed",
    "rootdrop": "the directory of a plan is renamed in its place before it is removed",
    "cleansfiles": "clean removes staged files one by one",
    "samename": "all attempts of a task stage their file under one name",
    "tidies": "an attempt removes the file of the result that it replaces",
    "removeslate": "an attempt removes its file after its result is written",
    "nomarker": "the last number of an increment is not remembered",
    "marksafter": "the last number of an increment is remembered after it is published",
    "fencekept": "a new holder moves the documents of kept outputs as well",
    "keepslate": "the documents of kept outputs are written after the old files are moved out",
    "keepsearly": "the documents of kept outputs are written before _SUCCESS is retired",
    "keepsplain": "only the output is kept, and not its increments",
    "forgetskeep": "a pending manifest does not say that its output keeps the ones that it replaces",
    "filesfirst": "the files of a kept output are moved out before its document",
    "removesyoung": "a holder removes kept outputs before their time is over",
    "neverexpires": "kept outputs stay when their time is over",
}

WORK = ("D", ".rowtocol")
LOCK = ("D", "_lock")
SUCCESS = ("D", "_SUCCESS")
TASKS = range(2)


class Refused(Exception):
    """The file system refuses a call: no source, no parent, or the target exists."""


class Overtaken(Exception):
    """Another actor has the lock now."""


class Unanswered(Exception):
    """A call got no answer. It was carried out, will be, or never is."""


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

    def mkdir(self, path):
        parent = self.dir(path[:-1])
        if path[-1] in parent:
            raise Refused("exists: " + "/".join(path))
        parent[path[-1]] = {}

    def put(self, path, content):
        """Writes a whole file, by a temporary name in the actor's own directory."""
        self.dir(path[:-1])[path[-1]] = content

    def stage(self, path, content):
        """Writes a whole file below WORK, and makes its directory if it is gone."""
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
        (self.get(path[:-1]) or {}).pop(path[-1], None)


class Plan:
    """The inputs to convert, and the outputs that the plan saw. It never changes."""

    def __init__(self, inputs, increment, sees, memory, nonce=""):
        self.inputs, self.increment, self.sees = inputs, increment, sees
        self.memory, self.nonce = memory, nonce
        kind = "increment" if increment else "output"
        self.id = ",".join([kind, *sorted(inputs), *sorted(sees), str(memory), nonce])
        self.dir = WORK + ("plan-" + self.id,)

    def content(self, task):
        """The content of a task's file, which depends on nothing else."""
        return f"{task} of {self.id}"


class Document:
    """The manifest of an output or of an increment. It never changes."""

    def __init__(self, id, plan, files, seq, holder, keep):
        self.id, self.plan, self.files, self.seq, self.holder = id, plan, files, seq, holder
        self.keep = keep  # how long the outputs that it replaces stay; 0 for not at all
        self.inputs, self.increment = plan.inputs, plan.increment
        self.replaces = frozenset() if plan.increment else plan.sees
        self.base = next(iter(plan.sees), None) if plan.increment else None

    def dirname(self):
        return f"increment-{self.seq:08}-{self.id}"

    def home(self):
        """The directory of the published files."""
        return ("D", self.dirname()) if self.increment else ("D",)


class Kept:
    """The document of a replaced output whose files stay until a time of the file system's clock."""

    def __init__(self, doc, until):
        self.doc, self.until = doc, until


def require(holds, promise, detail):
    if not holds:
        raise AssertionError(promise, detail)


def finished(d):
    """The sound files in a plan's directory that results name."""
    return {v for n, v in d.items() if n.startswith("result") and v in d and d[v] == d["plan"].content(n[6:])}


def below(fs, path):
    """Every directory at and below a path, except those that are to be removed."""
    node = fs.get(path)
    dirs = [(path, node)] if node else []
    for path, node in dirs:
        dirs += [(path + (n,), d) for n, d in node.items() if type(d) is dict and not n.startswith(("old-", "trash-"))]
    return dirs


def increments(fs):
    """The documents of the increments in the destination, sorted by number."""
    dirs = [v for n, v in fs.dir(("D",)).items() if n.startswith("increment-")]
    return sorted((d["_SUCCESS"] for d in dirs if "_SUCCESS" in d), key=lambda d: d.seq)


def kept(fs):
    """The documents of kept outputs, by the IDs of the outputs."""
    return {n[5:]: k for n, k in (fs.get(WORK) or {}).items() if n.startswith("kept-")}


def markers(fs):
    """The numbers in the names of markers."""
    return [int(n[12:]) for n in fs.dir(("D",)) if n.startswith("_increments-")]


def ids(docs):
    return frozenset(d.id for d in docs)


def inputs_of(docs):
    return frozenset(i for d in docs for i in d.inputs)


class Actor:
    """One process. Each method is a generator that yields (name, call) for every call
    to the file system; the driver carries it out and sends the answer. Its kinds:

      convert  plans, runs the tasks and commits, all under the lock
      submit   plans and runs the tasks without the lock, then commits under it
      commit   plans without the lock, and commits what others staged
      task     plans and runs the tasks, without the lock
      clean    removes leftovers
    """

    def __init__(self, world, name, kind, inputs="", incremental=False, overwrite=False, restart=False, memory=1, keep=0):
        self.w, self.fs, self.name, self.kind = world, world.fs, name, kind
        self.inputs, self.incremental, self.overwrite = frozenset(inputs), incremental, overwrite
        self.restart, self.memory, self.keep = restart, memory, keep
        self.remembers = {}  # task -> the file that it staged or found
        self.moves = 0
        self.rename_self()

    def rename_self(self):
        self.id = self.w.fresh("h")
        self.dir = WORK + (self.id,)

    def new(self, prefix):
        """A path in the actor's directory that was never used."""
        return self.dir + (self.w.fresh(prefix),)

    def run(self):
        plan = None
        if self.kind in ("submit", "commit", "task"):
            plan = yield from self.plan((yield from self.read_state()))
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
            except Refused:  # a new holder moved the actor's directory
                self.rename_self()
                yield ("mkdir", lambda dir=self.dir: self.fs.mkdir(dir))
                continue
            try:
                yield ("lock", lambda mine=mine: self.fs.rename(mine, LOCK))
                self.w.holders += 1
                return True
            except Refused:
                pass
            if (yield ("read lock", lambda: self.fs.get(LOCK))):
                if not self.w.looks_dead():
                    return False
                yield from self.attempt("take over", LOCK, self.new("stale"))
        return False

    def rename(self, what, source, target):
        """Renames, and repeats a rename without an answer under the same names. It was
        carried out if its source is gone and its target is there. If it is also carried
        out late, it fails because the target exists."""
        try:
            yield (what, lambda: self.fs.rename(source, target))
        except Unanswered:
            if self.w.rng.random() < 0.3:
                raise
            again = target
            if self.w.mutant == "newname" and target[:-1] == self.dir:
                again = self.new(target[-1].rstrip("0123456789"))
            try:
                yield (what, lambda: self.fs.rename(source, again))
            except Refused:
                if not (yield ("stat", lambda: self.fs.get(source) is None and self.fs.get(target) is not None)):
                    raise

    def attempt(self, what, source, target):
        """Renames, unless that is refused."""
        try:
            yield from self.rename(what, source, target)
        except Refused:
            pass

    def check_lock(self):
        if not (yield ("check", lambda: self.fs.get(LOCK) == self.id)):
            raise Overtaken

    def move(self, what, source, target):
        """Renames, and checks the lock before every third time: the fence keeps the promises."""
        self.moves += 1
        if self.moves % 3 == 0:
            yield from self.check_lock()
        yield from self.rename(what, source, target)

    def move_if_there(self, what, source, target):
        try:
            yield from self.move(what, source, target)
            return True
        except Refused:
            return False

    def fence(self):
        moved = {"fenceplans": "plan-", "fencekept": "kept-"}.get(self.w.mutant)
        stay = tuple(p for p in ("trash-", "plan-", "kept-") if p != moved)
        others = yield ("list work", lambda: [n for n in self.fs.dir(WORK) if n != self.id and not n.startswith(stay)])
        for n in others:
            if self.w.mutant != "nofence":
                yield from self.move_if_there("fence", WORK + (n,), self.dir + ("fenced-" + n,))

    def release(self, keep=False):
        """Releases the lock, and removes the actor's directory unless the next holder may
        need files in it."""
        yield from self.check_lock()
        yield from self.attempt("release", LOCK, self.new("released"))
        if not keep:
            trash = WORK + ("trash-" + self.id,)
            yield from self.attempt("trash", self.dir, trash)
            yield ("remove", lambda: self.fs.remove(trash))

    # The state of the destination, and plans for it.

    def read_state(self):
        """The plain output, if there is one, and the increments that count."""
        plain = yield ("read success", lambda: self.fs.get(SUCCESS))
        base = plain.id if plain else None
        added = yield ("list increments", lambda: [d for d in increments(self.fs) if d.base == base])
        return ([plain] if plain else []) + added

    def plan(self, now):
        """The plan of the request, or a text that says why there is none."""
        self.began, self.saw = self.w.names, ids(now)
        base = ids(d for d in now if not d.increment)
        new = self.inputs - inputs_of(now) if self.incremental else self.inputs
        if not new or len(now) == len(base) == 1 and now[0].inputs == new:
            return "nothing"
        if now and not self.incremental and not self.overwrite:
            return "other"
        plan = Plan(new, self.incremental, base if self.incremental else ids(now), self.memory)
        fit = [d for d in (yield ("list plans", self.staged_plans)) if self.fits(d["plan"], plan)]
        if self.restart:
            if self.kind == "convert":
                for d in fit:
                    yield from self.drop(d["plan"].dir)
            nonce = "" if self.w.mutant == "nononce" else self.w.fresh("n")
            return Plan(plan.inputs, plan.increment, plan.sees, self.memory, nonce)
        return max(fit, key=lambda d: len(finished(d)))["plan"] if fit else plan

    def staged_plans(self):
        """The directories of plans that contain their plan."""
        return [dict(d) for n, d in self.fs.dir(WORK).items() if n.startswith("plan-") and "plan" in d]

    def fits(self, staged, plan):
        """Whether a staged plan can be resumed instead of another plan."""
        base = staged.sees == plan.sees or self.w.mutant == "resumesdead"
        return base and staged.inputs == plan.inputs and staged.increment == plan.increment and staged.memory <= plan.memory

    def outdated(self, plan, now):
        """Whether a plan can never be committed because of outputs in the destination."""
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
            if self.w.rng.random() < 0.15:  # a failed attempt
                torn = yield from self.stage(plan, task, "torn")
                yield ("remove own", lambda torn=torn: self.fs.remove(plan.dir + (torn,)))
            self.remembers[task] = mine = yield from self.stage(plan, task, plan.content(task))
            result = plan.dir + (f"result{task}",)
            if self.w.mutant == "tidies":
                before = yield ("stat", lambda: self.fs.get(result))
            yield ("stage result", lambda result=result, mine=mine: self.fs.stage(result, mine))
            if before and self.w.mutant == "tidies":
                yield ("remove other", lambda before=before: self.fs.remove(plan.dir + (before,)))
            if self.w.mutant == "removeslate" and self.w.rng.random() < 0.1:
                yield ("remove own", lambda mine=mine: self.fs.remove(plan.dir + (mine,)))

    def stage(self, plan, task, content):
        name = f"staged{task}-" + ("" if self.w.mutant == "samename" else self.w.fresh(""))
        self.w.begun[name] = self.w.names
        yield ("stage", lambda: self.fs.stage(plan.dir + (name,), content))
        return name

    # The work under the lock.

    def work(self, plan):
        now = yield from self.read_state()
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
            require(ids(now) != self.saw, "a plan was refused though nothing changed", plan.id)
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
                for file in (yield ("list plan", lambda n=n: list(self.fs.dir(WORK + (n,))))):
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
        doc = Document(id, plan, files, max([0, *numbers, plain.seq if plain else 0]) + 1, self.holder, self.keep)
        yield from self.check_lock()
        if self.w.mutant == "early":
            yield from self.take(plan)
        pending = self.dir + ("pending-" + id,)
        yield ("put pending", lambda: self.fs.put(pending, doc))
        if not (yield from self.publish(doc, pending)):
            return "lost"
        if self.restart and self.kind != "commit":
            old = [n for n in staged.values() if self.w.begun[n] < self.began]
            require(not old, "a restarted run published earlier work", old)
        self.w.done.append(id)
        return "done"

    def results(self, plan):
        """The staged file of each task, or None if a task is not done."""
        listed = yield ("list plan", lambda: dict(self.fs.get(plan.dir) or {}))
        staged = {}
        for task in TASKS:
            if self.w.mutant == "remembered" and task in self.remembers:
                staged[task] = self.remembers[task]
                continue
            staged[task] = listed.get(f"result{task}", "")
            if (yield ("stat", lambda: self.fs.get(plan.dir + (staged[task],)))) != plan.content(task):
                return None
        return staged

    # The steps of publishing. Each finds out whether it was done before.

    def publish(self, doc, pending):
        steps = self.publish_increment if doc.increment else self.publish_output
        return (yield from steps(doc, pending))

    def publish_output(self, doc, pending):
        if not (yield from self.gather(doc, ("D",), pending)):
            return False
        plain = yield ("read success", lambda: self.fs.get(SUCCESS))
        if self.w.mutant == "keepsearly":
            yield from self.keep_replaced(doc, plain)
        if plain and plain.id != doc.id:
            yield from self.move("retire", SUCCESS, self.dir + ("retired",) if self.w.mutant == "retry" else self.new("retired"))
        if self.w.mutant not in ("keepsearly", "keepslate"):
            yield from self.keep_replaced(doc, plain)
        yield from self.bring_in(doc, ("D",))
        yield from self.move_old_out(doc)
        if self.w.mutant == "keepslate":
            yield from self.keep_replaced(doc, plain)
        if not (yield ("read success", lambda: self.fs.get(SUCCESS))):
            yield from self.put_and_move("success", doc, SUCCESS)
        return True

    def keep_replaced(self, doc, plain):
        """Writes the documents of the output that is replaced, which is retired by now, and of
        its increments. A killed holder may have written them before: they are written again,
        and their time begins again."""
        if not doc.keep or self.w.mutant == "forgetskeep" and doc.holder != self.holder or plain and plain.id == doc.id:
            return
        dirs = yield ("find", lambda: below(self.fs, self.dir))
        retired = [v for _, d in dirs for n, v in d.items() if n.startswith("retired") and v.id in doc.replaces]
        base = max([plain] if plain else retired, key=lambda d: d.seq, default=None)
        added = yield ("list increments", lambda: [d for d in increments(self.fs) if d.base == (base.id if base else None)])
        for d in ([base] if base else []) + (added if self.w.mutant != "keepsplain" else []):
            if d.id in (yield ("list work", lambda: kept(self.fs))):
                if self.w.mutant == "keepsearly":
                    continue
                yield from self.move_if_there("unkeep", WORK + ("kept-" + d.id,), self.new("old-"))
            yield from self.put_and_move("keep", lambda d=d: Kept(d, self.w.clock + doc.keep), WORK + ("kept-" + d.id,))

    def remove_kept(self):
        """Ends the outputs whose time is over: the document goes, and its files are then those
        of no output."""
        for id, k in (yield ("list work", lambda: kept(self.fs))).items():
            if self.w.mutant == "neverexpires" or self.w.mutant != "removesyoung" and self.w.clock <= k.until:
                continue
            if self.w.mutant == "filesfirst":
                for name in k.doc.files:
                    yield from self.move_if_there("old out", k.doc.home() + (name,), self.new("old-"))
            yield from self.move_if_there("unkeep", WORK + ("kept-" + id,), self.new("old-"))

    def publish_increment(self, doc, pending):
        target = ("D", doc.dirname())
        if (yield ("stat", lambda: self.fs.get(target))) is None:
            home = self.new("assembled")
            if not (yield from self.gather(doc, home, pending)):
                return False
            yield ("mkdir own", lambda: self.fs.mkdir(home))
            yield from self.bring_in(doc, home)
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
        yield ("put " + what, lambda: self.fs.put(written, content() if callable(content) else content))
        yield from self.move(what, written, target)

    def gather(self, doc, home, pending):
        """Takes the directory of the plan, and checks that every file is there. If a file
        is missing, puts the directory back and withdraws the pending manifest."""
        if self.w.mutant != "direct" and not (yield ("whole", lambda: self.whole(doc, home))):
            yield from self.take(doc.plan)
        if self.w.mutant == "nowhole" or (yield ("whole", lambda: self.whole(doc, home))):
            return True
        yield from self.check_lock()
        excused = self.w.damages or self.w.late_take or doc.id in self.w.removed
        require(excused or self.fs.get(self.dir) is None, "finished work vanished before it was taken", doc.id)
        if self.w.mutant == "forgetful":
            yield from self.move("withdraw", pending, self.new("withdrawn"))
        for path, _ in (yield ("find", lambda: below(self.fs, self.dir))):
            if not path[-1].startswith("taken") or not path[-1].endswith(" " + doc.plan.id):
                continue
            if not (yield from self.move_if_there("put back", path, doc.plan.dir)):
                yield from self.move_if_there("discard", path, self.new("old-"))
        yield from self.move_if_there("withdraw", pending, self.new("withdrawn"))
        return False

    def take(self, plan):
        yield from self.check_lock()
        yield from self.attempt("take", plan.dir, self.dir + (self.w.fresh("taken") + " " + plan.id,))

    def find(self, doc, home, name):
        """The path of an output's file: in its place, or in the actor's directory."""
        dirs = [(home, self.fs.get(home) or {}), *below(self.fs, self.dir)]
        if self.w.mutant == "direct":
            dirs.append((doc.plan.dir, self.fs.get(doc.plan.dir) or {}))
        return next((path + (n,) for n in (name, doc.files[name]) for path, d in dirs if n in d), None)

    def whole(self, doc, home):
        places = [self.find(doc, home, name) or () for name in doc.files]
        return all(self.fs.get(at) == doc.plan.content(task) for task, at in enumerate(places))

    def bring_in(self, doc, home):
        for name in doc.files:
            source = yield ("find", lambda: self.find(doc, home, name))
            if source is None:
                raise Refused("no " + name)
            if source[:-1] != home:
                yield from self.move("move in", source, home + (name,))

    def move_old_out(self, doc):
        """Moves out files that are not part of the plain output, or of any output if there
        is no plain one. Files of kept outputs stay. A late call can leave an empty directory with the name of
        an increment."""
        files, stay = doc.files if doc else (), kept(self.fs)
        for n, v in (yield ("list", lambda: dict(self.fs.dir(("D",))))).items():
            part = n.startswith("part") and n not in files
            if n.rpartition("-")[2] in stay and v != {}:
                continue
            if part or n.startswith("increment-") and ("_SUCCESS" not in v or doc and v["_SUCCESS"].base != doc.id):
                yield from self.move_if_there("old out", ("D", n), self.new("old-"))

    def roll_forward(self):
        dirs = yield ("list pending", lambda: below(self.fs, self.dir))
        pending = [(v, path + (n,)) for path, d in dirs for n, v in d.items() if n.startswith("pending")]
        for doc, path in sorted(pending, key=lambda p: p[0].seq):
            plain = yield ("read success", lambda: self.fs.get(SUCCESS))
            if doc.increment:
                passed = doc.base != (plain.id if plain else None)
            else:
                passed = plain and plain.seq >= doc.seq
            if not passed:
                yield from self.publish(doc, path)
            if self.w.mutant != "keeps":
                yield ("remove pending", lambda path=path: self.fs.remove(path))
        if self.w.keeps:
            yield from self.remove_kept()
        yield from self.move_old_out((yield ("read success", lambda: self.fs.get(SUCCESS))))
