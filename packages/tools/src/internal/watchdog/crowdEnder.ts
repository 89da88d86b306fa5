/** A command, as the watchdog knows it: its first process, and when that began; "-" if that is not known. */
interface Guarded {
  readonly pid: number
  readonly began: string
}

/** Ends the groups of commands that have too many processes, and writes the mark of each as a line. Returns the marks. */
export type EndCrowds = (commands: ReadonlyMap<string, Guarded>) => ReadonlyArray<string>

/**
 * Makes what bounds the processes of commands in the watchdog. It runs from the text of this function, so it may use nothing
 * but its parameters. A process belongs to a command by its group or session, by a parent that does, or else by its mark.
 */
export const crowdEnder = (
  fs: Pick<typeof import("node:fs"), "readFileSync" | "readdirSync" | "writeSync">,
  kill: NodeJS.Process["kill"],
  most: number
): EndCrowds => {
  const attempt = <A>(read: () => A, otherwise: A): A => {
    try {
      return read()
    } catch {
      // Processes may end at any moment.
      return otherwise
    }
  }
  const read = (file: string) => attempt(() => fs.readFileSync(file, "latin1"), "")
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
    for (const name of attempt(() => fs.readdirSync("/proc"), [])) {
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
    return [...counts].filter(([, { size }]) => size > most)
  }
  let calm: number | undefined
  return (commands) => {
    if (commands.size === 0) {
      calm = undefined
      return []
    }
    // How many threads the machine has. Reading all processes takes long, so do it only when there are many more than before.
    // A busy machine may look for the first time when a command has its crowd already: then all that run count.
    const now = Number(/\/(\d+)/.exec(read("/proc/loadavg"))?.[1] ?? 0)
    const enough = calm === undefined ? most : Math.min(calm, now) + most / 4
    calm = Math.min(calm ?? now, now)
    if (now < enough) return []
    calm = now
    return crowds(commands).map(([mark, { groups }]) => {
      attempt(() => fs.writeSync(1, `${mark}\n`), 0)
      // A signal to a group reaches all of it at once, however fast its processes start others.
      for (const group of groups) attempt(() => group > 1 && kill(-group, "SIGKILL"), false)
      return mark
    })
  }
}
