/** Builds the arguments of bubblewrap. Nothing is visible or writable unless it is named here. */

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
export const worldOf = ({ isRoot, links, system }: World): ReadonlyArray<string> => [
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
