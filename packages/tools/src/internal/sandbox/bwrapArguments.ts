/** What bubblewrap is told: nothing but reading, and what is named here. */

/**
 * What files of /proc tell the kernel what to do. Bubblewrap leaves them to the modes of the files, which keep everybody
 * from them but root.
 */
const switches = ["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "mtrr"].map((name) => `/proc/${name}`)

const each = (flag: string, paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  paths.flatMap((path) => [flag, path, path])

/** All files as they are, to be read, with devices and processes of its own. */
export const emptyWorld: ReadonlyArray<string> = [
  ...["--ro-bind", "/", "/"],
  ...["--dev", "/dev"],
  ...["--proc", "/proc"],
  ...each("--ro-bind-try", switches)
]

/** What a command may do, all paths absolute and real. */
export interface Confinement {
  /** The flags that take everything from it, as far as bubblewrap can do that here. */
  readonly strength: ReadonlyArray<string>
  /** The directory that it runs in. */
  readonly directory: string
  /** What it may change: directories, and files that exist. Later ones stand over earlier ones. */
  readonly writable: ReadonlyArray<string>
  /** What lies in these and may only be read. */
  readonly readable: ReadonlyArray<string>
  /** What only has to stay where it is: the directories above what may only be read. */
  readonly pinned: ReadonlyArray<string>
  /** What lies in that, and may be changed all the same. */
  readonly reopened: ReadonlyArray<string>
  /** What is not there: a device that nobody can open stands in its place. */
  readonly blocked: ReadonlyArray<string>
  /** What it finds as /tmp. */
  readonly temporary: string
  /** What must be there to read although it lies below /tmp or /run. */
  readonly kept: ReadonlyArray<string>
  /** What it finds in the place of a file: that file, and the other one. */
  readonly replaced: ReadonlyArray<readonly [path: string, by: string]>
  readonly network: boolean
}

/** How a command is started: what comes behind `bwrap`, before the program and its arguments. */
export const bwrapArguments = (confinement: Confinement): ReadonlyArray<string> => [
  // Its own processes, users, messages, host name and network; all of it ends with its parent.
  ...confinement.strength,
  ...(confinement.network ? ["--share-net"] : []),
  "--die-with-parent",
  "--new-session",
  ...emptyWorld,
  // Sockets of other programs lie here, and through them one could ask these to do what one may not do.
  ...["--tmpfs", "/run"],
  ...each("--ro-bind-try", confinement.network ? ["/run/systemd/resolve", "/run/resolvconf"] : []),
  ...["--bind", confinement.temporary, "/tmp"],
  ...["--setenv", "TMPDIR", "/tmp"],
  ...["--setenv", "XDG_CACHE_HOME", "/tmp/.cache"],
  ...each("--ro-bind-try", confinement.kept),
  ...each("--bind", confinement.writable),
  // A directory above what is kept could be moved away, and another one be made in its place; what is mounted cannot.
  ...each("--bind", confinement.pinned),
  ...each("--ro-bind", confinement.readable),
  ...each("--bind", confinement.reopened),
  ...confinement.replaced.flatMap(([path, by]) => ["--ro-bind", by, path]),
  ...confinement.blocked.flatMap((path) => ["--ro-bind", "/dev/null", path]),
  ...["--chdir", confinement.directory],
  "--"
]
