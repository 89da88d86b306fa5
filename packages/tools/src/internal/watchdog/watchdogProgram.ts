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

/** How many processes a command may have. */
export const mostProcesses = 2_000

/** Says that a command had more. */
export const crowdedText = (most: number): string => `It had more than ${most} processes.`

/** A command: its first process, and when that began; "-" if that is not known. */
interface Guarded {
  readonly pid: number
  readonly began: string
}

/** A command, by its mark, that has too many processes, and the groups in which they are. */
interface Crowd {
  readonly mark: string
  readonly groups: ReadonlySet<number>
}

/** Finds the commands that have too many processes. */
type FindCrowds = (commands: ReadonlyMap<string, Guarded>) => ReadonlyArray<Crowd>

/**
 * Makes it. It runs from the text of this function, so it may use nothing but its parameters. A process
 * belongs to a command by its group or session, by a parent that does, or else by its mark.
 */
export const crowdFinder = (
  { readFileSync, readdirSync }: Pick<typeof import("node:fs"), "readFileSync" | "readdirSync">,
  most: number
): FindCrowds => {
  const attempt = <A>(read: () => A, otherwise: A): A => {
    try {
      return read()
    } catch {
      // Processes may end at any moment.
      return otherwise
    }
  }
  const read = (file: string) => attempt(() => readFileSync(file, "latin1"), "")
  const marksOf = (pid: number) => {
    const environ = read(`/proc/${pid}/environ`)
    const [, value = ""] = environ.includes("SKEIN_GROUP=") ? /(?:^|\0)SKEIN_GROUP=([^\0]*)/.exec(environ) ?? [] : []
    return value.split(":")
  }
  const crowds = (commands: ReadonlyMap<string, Guarded>) => {
    // One that has not started yet has no number. Threads of the system are in the group 0.
    const leaders = new Map([...commands].flatMap(([mark, { pid }]) => pid > 0 ? [[pid, mark] as const] : []))
    const since = Math.min(...Array.from(commands.values(), ({ began }) => began === "-" ? 0 : Number(began)))
    const parents = new Map<number, number>()
    const groups = new Map<number, number>()
    const owners = new Map<number, string | undefined>()
    const later: Array<number> = []
    for (const name of attempt(() => readdirSync("/proc"), [])) {
      const text = /^\d/.test(name) ? read(`/proc/${name}/stat`) : ""
      if (text === "") continue
      const [pid, fields] = [Number(name), text.slice(text.lastIndexOf(")") + 2).split(" ")]
      const [, parent, group, session] = fields.map(Number)
      parents.set(pid, parent ?? 0)
      groups.set(pid, group ?? 0)
      const owner = leaders.get(pid) ?? leaders.get(group ?? 0) ?? leaders.get(session ?? 0)
      if (owner !== undefined) owners.set(pid, owner)
      if (Number(fields[19]) >= since) later.push(pid)
    }
    const ownerOf = (pid: number): string | undefined => {
      if (owners.has(pid)) return owners.get(pid)
      const parent = parents.get(pid)
      owners.set(pid, undefined)
      if (parent !== undefined) owners.set(pid, ownerOf(parent))
      return owners.get(pid)
    }
    const counts = new Map<string, { size: number; readonly groups: Set<number> }>()
    const isMany = later.length > most
    for (const pid of later) {
      // Reading marks takes long. A process without a parent that belongs to the command may still have its mark.
      const mark = ownerOf(pid) ?? (isMany ? marksOf(pid).findLast((each) => commands.has(each)) : undefined)
      if (mark === undefined) continue
      const count = counts.get(mark) ?? { size: 0, groups: new Set() }
      counts.set(mark, count)
      count.size++
      count.groups.add(groups.get(pid) ?? pid)
    }
    return [...counts].flatMap(([mark, { groups: all, size }]) => size > most ? [{ mark, groups: all }] : [])
  }
  let calm: number | undefined
  return (commands) => {
    if (commands.size === 0) calm = undefined
    // How many threads the machine has. Reading all processes takes long, so do it only when there are many more than before.
    // A busy machine may look for the first time when a command has its crowd already: then all that run count.
    const now = Number(/\/(\d+)/.exec(read("/proc/loadavg"))?.[1] ?? 0)
    const enough = calm === undefined ? most : Math.min(calm, now) + most / 4
    if (commands.size > 0) calm = Math.min(calm ?? now, now)
    if (commands.size === 0 || now < enough) return []
    calm = now
    return crowds(commands)
  }
}

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
