/** Runs lines of bash under strace, among programs that do nothing, and says what was executed. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** Programs that run what they are given; all others of the lines are stand-ins that do nothing. */
const real = ["env", "nice", "nohup", "setsid", "stdbuf", "timeout", "xargs", "find", "bash", "sh"]

/** The names of the stand-ins. */
export const standIns = [
  "alpha",
  "beta",
  "cat",
  "gamma",
  "git",
  "ls",
  "sort",
  "touch",
  "rg",
  "sed",
  "tee",
  "head",
  "wc"
]

const found = (name: string): string | undefined =>
  ["/usr/bin", "/bin"].map((directory) => `${directory}/${name}`).find((each) => fs.existsSync(each))

/** Where strace is; lines cannot be watched without it. */
export const strace = found("strace")

/** What keeps the lines to a directory, where there is bubblewrap. */
const confined = (directory: string): ReadonlyArray<string> => {
  const bwrap = found("bwrap")
  const usable = bwrap !== undefined && spawnSync(bwrap, ["--ro-bind", "/", "/", "/bin/true"]).status === 0
  return usable
    ? [
      bwrap,
      "--ro-bind",
      "/",
      "/",
      "--dev",
      "/dev",
      "--bind",
      directory,
      directory,
      "--unshare-net",
      "--unshare-pid",
      "--proc",
      "/proc",
      "--die-with-parent"
    ]
    : []
}

/** Runs each line; none may go on for ever. */
const driver = `while IFS= read -r -d '' line; do
  /usr/bin/timeout -s KILL 1 bash -c "$line" < /dev/null > /dev/null 2>&1
done < "$1"
exit 0
`

/** One program that was started: its name and arguments. */
export type Executed = ReadonlyArray<string>

const decode = (quoted: string): string => {
  const bytes: Array<number> = []
  for (const [part] of quoted.matchAll(/\\(?:x[0-9a-f]{2}|.)|[^\\]/g)) {
    if (part.startsWith("\\x")) bytes.push(Number.parseInt(part.slice(2), 16))
    else bytes.push(...Buffer.from(part))
  }
  return Buffer.from(bytes).toString("utf8")
}

const argsOf = (call: string): Executed | undefined => {
  const list = /execve\("[^"]*", \[(.*)\], /.exec(call)?.[1]
  return list === undefined
    ? undefined
    : [...list.matchAll(/"((?:\\.|[^"\\])*)"/g)].map(([, each = ""]) => decode(each))
}

/** What each of the lines executes; bash itself is left out. */
export const executed = (lines: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<Executed>> => {
  const top = fs.mkdtempSync(path.join(os.tmpdir(), "skein-executed-"))
  const bin = path.join(top, "bin")
  const work = path.join(top, "work")
  for (const directory of [bin, work, path.join(work, "src")]) fs.mkdirSync(directory)
  for (const name of real) fs.symlinkSync(found(name) ?? "/bin/false", path.join(bin, name))
  for (const name of [...standIns, "true"]) fs.symlinkSync(found("true") ?? "/bin/true", path.join(bin, name))
  fs.writeFileSync(path.join(top, "driver"), driver)
  fs.writeFileSync(path.join(top, "lines"), lines.map((line) => `${line}\0`).join(""))
  const [command = "", ...args] = [
    ...confined(top),
    strace ?? "strace",
    "-f",
    "--seccomp-bpf",
    "-xx",
    "-s",
    "4096",
    "-e",
    "trace=execve,clone,clone3,fork,vfork",
    "-e",
    "signal=none",
    "-o",
    path.join(top, "trace"),
    "bash",
    path.join(top, "driver"),
    path.join(top, "lines")
  ]
  const { status, stderr } = spawnSync(command, args, {
    cwd: work, // Some lines are functions that call themselves: they end before they fill the machine.
    env: { PATH: bin, HOME: top, FUNCNEST: "3" },
    timeout: 60_000 + lines.length * 1_000,
    killSignal: "SIGKILL",
    encoding: "utf8"
  })
  if (status !== 0) throw new Error(`The lines could not be run: ${stderr}`)
  const rows = fs.readFileSync(path.join(top, "trace"), "utf8").split("\n").map((row) => ({
    pid: row.split(" ", 1).join(""),
    child: /(?:clone3?|v?fork)(?:\(| resumed).* = (\d+)$/.exec(row)?.[1],
    // Of a call that another process interrupts, the first half names all arguments.
    args: / = -1 |<\.\.\. execve/.test(row) ? undefined : argsOf(row.replace(" <unfinished ...>", ", "))
  }))
  const parents = new Map(rows.flatMap(({ child, pid }) => child === undefined ? [] : [[child, pid] as const]))
  const begun = rows.filter(({ args }) => args?.[0] === "/usr/bin/timeout").map(({ pid }) => pid)
  const numbers = new Map(begun.map((pid, at) => [pid, at] as const))
  const lineOf = (pid: string | undefined): number =>
    pid === undefined ? -1 : numbers.get(pid) ?? lineOf(parents.get(pid))
  const groups: Array<Array<Executed>> = lines.map(() => [])
  for (const { args, pid } of rows) {
    const line = lineOf(pid)
    const own = args?.[0] === "/usr/bin/timeout" || (args?.[0] === "bash" && args[2] === lines[line])
    if (args !== undefined && !own) groups[line]?.push(args)
  }
  fs.rmSync(top, { recursive: true, force: true })
  return groups
}
