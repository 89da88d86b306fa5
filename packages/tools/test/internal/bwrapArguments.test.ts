import { expect, it } from "vitest"
import { bwrapArguments, type Confinement } from "../../src/internal/sandbox/bwrapArguments.ts"

const plain: Confinement = {
  strength: ["--unshare-all", "--cap-drop", "ALL"],
  directory: "/w",
  writable: ["/out", "/w"],
  pinned: ["/w/.git"],
  readable: ["/w/.git/hooks"],
  reopened: ["/w/.skein/plans"],
  blocked: ["/w/skein.json"],
  replaced: [["/w/.git/info/exclude", "/p/exclude"]],
  temporary: "/p",
  kept: ["/d/spill"],
  network: false
}

const base = (network: boolean) => [
  ...["--unshare-all", "--cap-drop", "ALL"],
  ...(network ? ["--share-net"] : []),
  "--die-with-parent",
  "--new-session",
  ...["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"],
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

it("what may only be read stands over what may be changed, and nothing else may be", () => {
  expect(bwrapArguments(plain)).toEqual([
    ...base(false),
    ...["--ro-bind-try", "/d/spill", "/d/spill"],
    ...["--bind", "/out", "/out", "--bind", "/w", "/w"],
    ...["--bind", "/w/.git", "/w/.git"],
    ...["--ro-bind", "/w/.git/hooks", "/w/.git/hooks"],
    ...["--bind", "/w/.skein/plans", "/w/.skein/plans"],
    ...["--ro-bind", "/p/exclude", "/w/.git/info/exclude"],
    ...["--ro-bind", "/dev/null", "/w/skein.json"],
    ...["--chdir", "/w", "--"]
  ])
})

it("the network is shared only where it is allowed", () => {
  const none = { writable: [], pinned: [], readable: [], reopened: [], blocked: [], replaced: [], kept: [] }
  for (const network of [true, false]) {
    expect(bwrapArguments({ ...plain, ...none, network })).toEqual([...base(network), "--chdir", "/w", "--"])
  }
})
