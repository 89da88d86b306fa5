/**
 * The program of the watchdog. It runs in a process of its own, from the text of this function, so it may use nothing but
 * its parameters. Its arguments are orders, and it reads one more per line:
 *
 * - `+ MARK TREE END`: a command is about to start; its tree is held until END. Without a tree it only ends with the runner.
 * - `p MARK PID BEGAN`: its first process.
 * - `= TREE END`: the lease of a tree was renewed.
 * - `- MARK`: nothing of the command is left.
 *
 * Times are in hundredths of a second since the machine started. At the end of its input, the runner has ended. If a command
 * has too many processes, it writes the mark as a line, and ends the command.
 */
import type { FindCrowds } from "./crowds.ts"

/** Runs it, until its input ends. */
export const watchdogProgram = (
  fs: Pick<typeof import("node:fs"), "readFileSync" | "readdirSync" | "writeSync">,
  uptime: () => number,
  { argv, exit, kill, stdin }: Pick<NodeJS.Process, "argv" | "exit" | "kill" | "stdin">,
  findCrowds: FindCrowds
): void => {
  const commands = new Map<string, { readonly tree: string; pid: number; began: string }>()
  const ends = new Map<string, number>()
  const attempt = <A>(read: () => A, otherwise: A): A => {
    try {
      return read()
    } catch {
      // Processes may end at any moment.
      return otherwise
    }
  }
  const read = (file: string) => attempt(() => fs.readFileSync(file, "latin1"), "")
  const statOf = (pid: number) => {
    const text = read(`/proc/${pid}/stat`)
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    return { state: fields[0] ?? "", group: Number(fields[2]), began: fields[19] ?? "" }
  }
  const isMarked = (pid: number, marks: ReadonlySet<string>) => {
    const environ = read(`/proc/${pid}/environ`)
    const [, value] = environ.includes("SKEIN_GROUP=") ? /(?:^|\0)SKEIN_GROUP=([^\0]*)/.exec(environ) ?? [] : []
    return value !== undefined && value.split(":").some((mark) => marks.has(mark))
  }
  const below = (pid: number): Array<number> =>
    attempt(() => fs.readdirSync(`/proc/${pid}/task`), []).flatMap((thread) =>
      read(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean).map(Number)
    ).flatMap((child) => [child, ...below(child)])
  const leaderOf = (mark: string) => {
    const { began = "", pid = 0 } = commands.get(mark) ?? {}
    return pid > 0 && (began === "-" || statOf(pid).began === began) ? [pid] : []
  }
  const end = (marks: ReadonlyArray<string>) => {
    const wanted = new Set(marks)
    const leaders = marks.flatMap(leaderOf)
    const known = new Set<number>()
    // Again, because they may start others meanwhile.
    for (let round = 0; round < 20; round++) {
      const all = attempt(() => fs.readdirSync("/proc"), []).map(Number).filter((pid) => pid > 0)
      const found = all.filter((pid) => isMarked(pid, wanted) && !/[ZX]/.test(statOf(pid).state))
      const fresh = [...leaders, ...found].filter((pid) => !known.has(pid))
      if (fresh.length === 0) break
      const strays = fresh.flatMap(below)
      for (const group of new Set([...leaders, ...found.map((pid) => statOf(pid).group)])) {
        attempt(() => kill(-group, "SIGKILL"), false)
      }
      for (const pid of [...fresh, ...strays]) attempt(() => kill(pid, "SIGKILL"), false)
      for (const pid of fresh) known.add(pid)
    }
    for (const mark of marks) commands.delete(mark)
  }
  const obey = (line: string) => {
    const [order, name = "", a = "", b = ""] = line.split(" ")
    const command = commands.get(name)
    if (order === "+") {
      commands.set(name, { tree: a, pid: 0, began: "-" })
      if (a !== "-") ends.set(a, Math.max(Number(b), ends.get(a) ?? 0))
    } else if (order === "=") ends.set(name, Number(a))
    else if (order === "-") commands.delete(name)
    else if (order === "p" && command !== undefined) Object.assign(command, { pid: Number(a), began: b })
  }
  argv.slice(1).forEach(obey)
  let rest = ""
  stdin.setEncoding("latin1").on("data", (text: string) => {
    const lines = `${rest}${text}`.split("\n")
    rest = lines.pop() ?? ""
    lines.forEach(obey)
  })
  const over = () => exit((end([...commands.keys()]), 0))
  stdin.on("end", over).on("error", over)
  setInterval(() => {
    const crowded = findCrowds(commands).map(({ groups, mark }) => {
      attempt(() => fs.writeSync(1, `${mark}\n`), 0)
      // A signal to a group reaches all of it at once, however fast its processes start others.
      for (const group of groups) attempt(() => group > 1 && kill(-group, "SIGKILL"), false)
      return mark
    })
    if (commands.size === 0) return ends.clear()
    const late = [...commands].filter(([, { tree }]) => uptime() > (ends.get(tree) ?? Number.POSITIVE_INFINITY))
    if (late.length + crowded.length > 0) end([...crowded, ...late.map(([mark]) => mark)])
  }, 100)
}
