/** Decides how many processes a command may have, and finds those that have more. */
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
export type FindCrowds = (commands: ReadonlyMap<string, Guarded>) => ReadonlyArray<Crowd>

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
