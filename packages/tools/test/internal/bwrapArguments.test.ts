import { expect, it } from "vitest"
import { bwrapArguments, type Confinement } from "../../src/internal/sandbox/bwrapArguments.ts"

const plain: Confinement = {
  strength: ["--unshare-all", "--cap-drop", "ALL"],
  system: ["/usr", "/etc"],
  links: [["/bin", "usr/bin"]],
  isRoot: true,
  temporary: "/p",
  home: ["/home/me", "/h"],
  above: [],
  visible: ["/d/spill"],
  writable: ["/out", "/w"],
  pinned: ["/w/.git"],
  readable: ["/w/.git/hooks"],
  reopened: ["/w/.skein/plans"],
  emptied: ["/w/secrets"],
  shown: ["/w/secrets/shown"],
  replaced: [["/w/.git/config", "/b/clean"]],
  blocked: ["/w/.env"],
  directory: "/w",
  network: false
}

const base = (network: boolean) => [
  ...["--unshare-all", "--cap-drop", "ALL"],
  ...(network ? ["--share-net"] : []),
  "--die-with-parent",
  "--new-session",
  ...[
    "--ro-bind",
    "/usr",
    "/usr",
    "--ro-bind",
    "/etc",
    "/etc",
    "--symlink",
    "usr/bin",
    "/bin",
    "--dev",
    "/dev",
    "--proc",
    "/proc"
  ],
  ...["sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi", "mtrr"].flatMap((name) => [
    "--ro-bind-try",
    `/proc/${name}`,
    `/proc/${name}`
  ]),
  ...["--tmpfs", "/run"],
  ...(network
    ? [
      ...["--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve"],
      ...["--ro-bind-try", "/run/resolvconf", "/run/resolvconf"]
    ]
    : []),
  ...["--bind", "/p", "/tmp", "--setenv", "TMPDIR", "/tmp", "--setenv", "XDG_CACHE_HOME", "/tmp/.cache"]
]

it("what may only be read stands over what may be changed, what is hidden over both, and nothing else is there", () => {
  expect(bwrapArguments(plain)).toEqual([
    ...base(false),
    ...["--bind", "/h", "/home/me"],
    ...["--ro-bind-try", "/d/spill", "/d/spill"],
    ...["--bind", "/out", "/out", "--bind", "/w", "/w"],
    ...["--bind", "/w/.git", "/w/.git"],
    ...["--ro-bind", "/w/.git/hooks", "/w/.git/hooks"],
    ...["--bind", "/w/.skein/plans", "/w/.skein/plans"],
    ...["--tmpfs", "/w/secrets"],
    ...["--ro-bind-try", "/w/secrets/shown", "/w/secrets/shown"],
    ...["--ro-bind", "/b/clean", "/w/.git/config"],
    ...["--ro-bind", "/dev/null", "/w/.env"],
    ...["--remount-ro", "/w/secrets", "--remount-ro", "/"],
    ...["--chdir", "/w", "--"]
  ])
})

const none = {
  home: undefined,
  above: [],
  visible: [],
  writable: [],
  pinned: [],
  readable: [],
  reopened: [],
  emptied: [],
  shown: [],
  replaced: [],
  blocked: []
}

it("the network is shared only where it is allowed, and the home only to be read", () => {
  for (const network of [true, false]) {
    expect(bwrapArguments({ ...plain, ...none, network })).toEqual([
      ...base(network),
      ...["--remount-ro", "/", "--chdir", "/w", "--"]
    ])
  }
  expect(bwrapArguments({ ...plain, ...none, home: ["/home/me", "/home/me"] })).toEqual([
    ...base(false),
    ...["--ro-bind-try", "/home/me", "/home/me", "--remount-ro", "/", "--chdir", "/w", "--"]
  ])
})
