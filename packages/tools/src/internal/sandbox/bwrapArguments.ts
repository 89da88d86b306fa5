/**
 * Builds the arguments of bubblewrap, in which nothing is visible or writable unless it is named, and tests what it can
 * do here: which privileges it takes away, and whether it installs a filter of system calls. The filter forbids those
 * by which a program runs with the rights of its owner or group (setuid, setgid): outside of the sandbox such a file
 * would keep them.
 */
import * as Effect from "effect/Effect"
import { execFile } from "node:child_process"
import { ownEnvironment, ownProgram } from "../../OwnPrograms.ts"
import type { SandboxOptions } from "../../SandboxPlace.ts"

/** Files of /proc that control the kernel. Bubblewrap relies on their modes, which stop everybody but root. */
const switches = ["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "mtrr"].map((name) => `/proc/${name}`)

const each = (flag: string, paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.flatMap((path) => [flag, path, path])

/** What a command sees of the machine. */
export interface World {
  /** Readable paths; `/` for everything. */
  readonly system: ReadonlyArray<string>
  /** Links of the system, such as /bin on most. */
  readonly links: ReadonlyArray<readonly [path: string, to: string]>
  /** Whether it runs as root, who can ignore the modes of files. */
  readonly isRoot: boolean
}

/** These, with private devices and processes. */
const worldOf = ({ isRoot, links, system }: World): ReadonlyArray<string> => [
  ...each("--ro-bind", system),
  ...links.flatMap(([path, to]) => ["--symlink", to, path]),
  ...["--dev", "/dev"],
  ...["--proc", "/proc"],
  ...isRoot ? each("--ro-bind-try", switches) : []
]

/** What a command may do. All paths are absolute and real. */
export interface Confinement extends World {
  /** The flags that take all privileges from it, as far as bubblewrap can do that here. */
  readonly strength: ReadonlyArray<string>
  /** The directory that it sees as /tmp. */
  readonly temporary: string
  /** The directory that it sees as the user's home. If both are the same, the home itself, read-only, if it exists. */
  readonly home: readonly [path: string, by: string] | undefined
  /** Approved paths above the home. */
  readonly above: ReadonlyArray<string>
  /** What else it sees: toolchains, and approved paths. */
  readonly visible: ReadonlyArray<string>
  /** What it may change: directories, and existing files. Later ones override earlier ones. */
  readonly writable: ReadonlyArray<string>
  /** Paths in these that are read-only. */
  readonly readable: ReadonlyArray<string>
  /** Paths that must stay where they are: the directories above the read-only ones. */
  readonly pinned: ReadonlyArray<string>
  /** Paths in those that are writable nevertheless. */
  readonly reopened: ReadonlyArray<string>
  /** Directories that appear empty. */
  readonly emptied: ReadonlyArray<string>
  /** Paths in those that are visible nevertheless. */
  readonly shown: ReadonlyArray<string>
  /** Replaced files: the path, and the file that appears there. */
  readonly replaced: ReadonlyArray<readonly [path: string, by: string]>
  /** Paths that are hidden: an inaccessible device is mounted over them. */
  readonly blocked: ReadonlyArray<string>
  /** The working directory. */
  readonly directory: string
  readonly network: boolean
}

/** The arguments of `bwrap` before the program and its arguments. */
export const bwrapArguments = (confinement: Confinement): ReadonlyArray<string> => [
  // Separate processes, users, IPC, host name and network. Everything ends with its parent.
  ...confinement.strength,
  ...(confinement.network ? ["--share-net"] : []),
  "--die-with-parent",
  "--new-session",
  ...worldOf(confinement),
  // Sockets of other programs are here. Through them, a command could make those do what it may not do.
  ...["--tmpfs", "/run"],
  ...each("--ro-bind-try", confinement.network ? ["/run/systemd/resolve", "/run/resolvconf"] : []),
  ...["--bind", confinement.temporary, "/tmp"],
  ...["--setenv", "TMPDIR", "/tmp"],
  ...["--setenv", "XDG_CACHE_HOME", "/tmp/.cache"],
  ...each("--ro-bind-try", confinement.above),
  ...homeOf(confinement.home),
  ...each("--ro-bind-try", confinement.visible),
  ...each("--bind", confinement.writable),
  // Otherwise a directory above a protected one could be moved away and replaced. A mount cannot be moved.
  ...each("--bind", confinement.pinned),
  ...each("--ro-bind", confinement.readable),
  ...each("--bind", confinement.reopened),
  ...confinement.emptied.flatMap((path) => ["--tmpfs", path]),
  ...each("--ro-bind-try", confinement.shown),
  ...confinement.replaced.flatMap(([path, by]) => ["--ro-bind", by, path]),
  ...confinement.blocked.flatMap((path) => ["--ro-bind", "/dev/null", path]),
  // What is mounted over stays empty.
  ...[...confinement.emptied, ...(confinement.system.includes("/") ? [] : ["/"])].flatMap((path) => [
    "--remount-ro",
    path
  ]),
  ...["--chdir", confinement.directory],
  "--"
]

const homeOf = (home: Confinement["home"]): ReadonlyArray<string> => {
  if (home === undefined) return []
  const [path, by] = home
  return path === by ? ["--ro-bind-try", path, path] : ["--bind", by, path]
}

/** The bits that no file may get. */
const rights = 0o6000

/** The flags of `open` with which it takes a mode: `O_CREAT`, and that of `O_TMPFILE`. */
const creates = 0o100 | 0o20000000

/** A calling convention: its number for the kernel, and its calls. */
interface Convention {
  readonly audit: number
  /** Calls that take a mode, and which argument that is. */
  readonly modes: Readonly<Record<number, number>>
  /** Calls that take flags, and a mode behind them; which argument the flags are. */
  readonly opens: Readonly<Record<number, number>>
}

/** Calls whose arguments cannot be looked at, the same in all conventions: `openat2` and `io_uring_setup`. */
const opaque = [437, 425]

const fchmodat2 = { 452: 2 }

const conventions: Readonly<Partial<Record<NodeJS.Architecture, ReadonlyArray<Convention>>>> = {
  x64: [
    // chmod, fchmod, fchmodat, creat, mknod, mknodat; open, openat
    {
      audit: 0xC000003E,
      modes: { 90: 1, 91: 1, 268: 2, 85: 1, 133: 1, 259: 2, ...fchmodat2 },
      opens: { 2: 1, 257: 2 }
    },
    { audit: 0x40000003, modes: { 15: 1, 94: 1, 306: 2, 8: 1, 14: 1, 297: 2, ...fchmodat2 }, opens: { 5: 1, 295: 2 } }
  ],
  arm64: [
    { audit: 0xC00000B7, modes: { 52: 1, 53: 2, 33: 2, ...fchmodat2 }, opens: { 56: 2 } },
    { audit: 0x40000028, modes: { 15: 1, 94: 1, 333: 2, 8: 1, 14: 1, 324: 2, ...fchmodat2 }, opens: { 5: 1, 322: 2 } }
  ]
}

/** An instruction: its code, how many to skip if a test holds or not, and its operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number]

const load = (offset: number): Instruction => [0x20, 0, 0, offset]

const equals = (value: number, ifTrue: number, ifFalse: number): Instruction => [0x15, ifTrue, ifFalse, value]

const atLeast = (value: number, ifTrue: number, ifFalse: number): Instruction => [0x35, ifTrue, ifFalse, value]

const hasAny = (bits: number, ifTrue: number, ifFalse: number): Instruction => [0x45, ifTrue, ifFalse, bits]

const end = (result: number): Instruction => [0x06, 0, 0, result]

const allow = end(0x7FFF0000)

const failing = (error: number) => end(0x00050000 | error)

const notPermitted = failing(1)

const notImplemented = failing(38)

/** Where the low half of an argument is. */
const argument = (index: number): number => 16 + 8 * index

/** The part for one convention, entered with its number loaded: other numbers skip it. */
const partOf = ({ audit, modes, opens }: Convention): ReadonlyArray<Instruction> => {
  const body: ReadonlyArray<Instruction> = [
    load(0),
    // The numbers of x32 begin here: the same calls once more, which hardly any kernel has.
    ...audit === 0xC000003E ? [atLeast(0x40000000, 0, 1), notImplemented] : [],
    ...opaque.flatMap((call) => [equals(call, 0, 1), notImplemented]),
    ...Object.entries(modes).flatMap(([call, mode]) => [
      equals(Number(call), 0, 4),
      load(argument(mode)),
      hasAny(rights, 0, 1),
      notPermitted,
      allow
    ]),
    ...Object.entries(opens).flatMap(([call, flags]) => [
      equals(Number(call), 0, 6),
      load(argument(flags)),
      hasAny(creates, 0, 3),
      load(argument(flags + 1)),
      hasAny(rights, 0, 1),
      notPermitted,
      allow
    ]),
    allow
  ]
  return [equals(audit, 0, body.length), ...body]
}

/** The filter for this machine; undefined if its calls are not known. */
const filterFor = (architecture: NodeJS.Architecture): Buffer | undefined => {
  const known = conventions[architecture]
  if (known === undefined) return undefined
  const program = [load(4), ...known.flatMap(partOf), notImplemented]
  const bytes = Buffer.alloc(program.length * 8)
  for (const [at, [code, ifTrue, ifFalse, operand]] of program.entries()) {
    bytes.writeUInt16LE(code, at * 8)
    bytes.writeUInt8(ifTrue, at * 8 + 2)
    bytes.writeUInt8(ifFalse, at * 8 + 3)
    bytes.writeUInt32LE(operand >>> 0, at * 8 + 4)
  }
  return bytes
}

/**
 * Its possible flags, best first. Root would keep its capabilities and could unmount things. Namespaces created inside
 * are no way out, but they expose most of the kernel's bugs; versions before 0.8 cannot forbid them.
 */
const strengths = [
  ["--unshare-all", "--unshare-user", "--disable-userns", "--cap-drop", "ALL"],
  ["--unshare-all", "--cap-drop", "ALL"]
] as const

/** How long the test may take, in milliseconds. */
const patience = 5_000

/** A sandbox has its own process ids, so its first shell has a small one. */
const proof = ["sh", "-c", "echo \"sandboxed $$\""]

type TrialOptions = Pick<SandboxOptions, "directory" | "environment">

/** What the system says, and Node as a code, if the machine has none left for the moment. */
const shortage =
  /\b(E(AGAIN|MFILE|NFILE|NOMEM))\b|Resource temporarily unavailable|Too many open files|Cannot allocate memory/

interface Failure {
  readonly why: string
  /** Whether the same flags might work later. */
  readonly isTemporary: boolean
  /** Whether a weaker set of flags might work. */
  readonly isRefused: boolean
}

/** What bubblewrap can do here. */
interface Strength {
  /** The flags before all others. */
  readonly flags: ReadonlyArray<string>
  /** The filter of system calls that it can install. */
  readonly filter: Buffer | undefined
}

const attempt = (strength: Strength, { directory = "/", environment }: TrialOptions) =>
  Effect.async<Strength, Failure>((resume) => {
    const { filter, flags } = strength
    const child = execFile(
      ownProgram("bwrap", environment["PATH"], directory),
      [
        ...flags,
        ...filter === undefined ? [] : ["--seccomp", "0"],
        "--die-with-parent",
        ...worldOf({ system: ["/"], links: [], isRoot: true }),
        "--",
        ...proof
      ],
      { env: ownEnvironment({ PATH: environment["PATH"] ?? "" }, directory), timeout: patience, killSignal: "SIGKILL" },
      (error, out, complaints) => {
        const failed = (why: string, given: Partial<Failure> = {}) =>
          resume(Effect.fail({ why, isRefused: false, isTemporary: false, ...given }))
        if (error === null) {
          return /^sandboxed \d\n$/.test(out)
            ? resume(Effect.succeed(strength))
            : failed("the bwrap on the PATH confines nothing: it is not bubblewrap")
        }
        if (error.code === "ENOENT") return failed("bubblewrap (bwrap) was not found on PATH (apt install bubblewrap)")
        if (error.killed === true) {
          return failed(`bubblewrap (bwrap) did not end within ${patience / 1_000} seconds`, { isTemporary: true })
        }
        const said = complaints.trim().split("\n", 1).join("") || error.message.split("\n", 1).join("")
        const isTemporary = shortage.test(said)
        failed(`bubblewrap does not work here (${said})`, { isRefused: !isTemporary, isTemporary })
      }
    )
    child.stdin?.on("error", () => undefined).end(filter)
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** The greatest strength that works here; fails with the reason why bubblewrap cannot be used. */
export const bwrapTrial = (options: TrialOptions): Effect.Effect<Strength, Failure> => {
  const filter = filterFor(process.arch)
  const [first, ...others] = [filter, ...filter === undefined ? [] : [undefined]].flatMap((known) =>
    strengths.map((flags) => attempt({ flags, filter: known }, options))
  )
  return others.reduce(
    (before, next) => Effect.catchIf(before, ({ isRefused }) => isRefused, () => next),
    first ?? Effect.fail({ why: "there is none", isRefused: false, isTemporary: false })
  )
}
