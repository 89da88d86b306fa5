/** What bubblewrap is told: nothing is seen and nothing may be changed but what is named here. */

/**
 * What files of /proc tell the kernel what to do. Bubblewrap leaves them to the modes of the files, which keep everybody
 * from them but root.
 */
const switches = ["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "mtrr"].map((name) => `/proc/${name}`)

const each = (flag: string, paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.flatMap((path) => [flag, path, path])

/** What a command sees of the machine. */
export interface World {
  /** To be read; `/` for all of it. */
  readonly system: ReadonlyArray<string>
  /** Links of the system, such as /bin on most. */
  readonly links: ReadonlyArray<readonly [path: string, to: string]>
  /** Whether it runs as root, for whom the modes of files are no hindrance. */
  readonly isRoot: boolean
}

/** That, with devices and processes of its own. */
export const worldOf = ({ isRoot, links, system }: World): ReadonlyArray<string> => [
  ...each("--ro-bind", system),
  ...links.flatMap(([path, to]) => ["--symlink", to, path]),
  ...["--dev", "/dev"],
  ...["--proc", "/proc"],
  ...isRoot ? each("--ro-bind-try", switches) : []
]

/** What a command may do, all paths absolute and real. */
export interface Confinement extends World {
  /** The flags that take everything from it, as far as bubblewrap can do that here. */
  readonly strength: ReadonlyArray<string>
  /** What it finds as /tmp. */
  readonly temporary: string
  /** What it finds as the home of the user; the home itself to be read, if there is one, where both are the same. */
  readonly home: readonly [path: string, by: string] | undefined
  /** What it sees besides: toolchains, and what somebody has consented to. */
  readonly visible: ReadonlyArray<string>
  /** What it may change: directories, and files that exist. Later ones stand over earlier ones. */
  readonly writable: ReadonlyArray<string>
  /** What lies in these and may only be read. */
  readonly readable: ReadonlyArray<string>
  /** What only has to stay where it is: the directories above what may only be read. */
  readonly pinned: ReadonlyArray<string>
  /** What lies in that, and may be changed all the same. */
  readonly reopened: ReadonlyArray<string>
  /** Directories that are empty for it. */
  readonly emptied: ReadonlyArray<string>
  /** What lies in these and is seen all the same. */
  readonly shown: ReadonlyArray<string>
  /** What it finds in the place of a file: that file, and the other one. */
  readonly replaced: ReadonlyArray<readonly [path: string, by: string]>
  /** What is not there: a device that nobody can open stands in its place. */
  readonly blocked: ReadonlyArray<string>
  /** The directory that it runs in. */
  readonly directory: string
  readonly network: boolean
}

/** How a command is started: what comes behind `bwrap`, before the program and its arguments. */
export const bwrapArguments = (confinement: Confinement): ReadonlyArray<string> => [
  // Its own processes, users, messages, host name and network; all of it ends with its parent.
  ...confinement.strength,
  ...(confinement.network ? ["--share-net"] : []),
  "--die-with-parent",
  "--new-session",
  ...worldOf(confinement),
  // Sockets of other programs lie here, and through them one could ask these to do what one may not do.
  ...["--tmpfs", "/run"],
  ...each("--ro-bind-try", confinement.network ? ["/run/systemd/resolve", "/run/resolvconf"] : []),
  ...["--bind", confinement.temporary, "/tmp"],
  ...["--setenv", "TMPDIR", "/tmp"],
  ...["--setenv", "XDG_CACHE_HOME", "/tmp/.cache"],
  ...homeOf(confinement.home),
  ...each("--ro-bind-try", confinement.visible),
  ...each("--bind", confinement.writable),
  // A directory above what is kept could be moved away, and another one be made in its place; what is mounted cannot.
  ...each("--bind", confinement.pinned),
  ...each("--ro-bind", confinement.readable),
  ...each("--bind", confinement.reopened),
  ...confinement.emptied.flatMap((path) => ["--tmpfs", path]),
  ...each("--ro-bind-try", confinement.shown),
  ...confinement.replaced.flatMap(([path, by]) => ["--ro-bind", by, path]),
  ...confinement.blocked.flatMap((path) => ["--ro-bind", "/dev/null", path]),
  // What was mounted over stays as empty as it is.
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
