/**
 * Servers of a cluster on hosts with different names, each in its own namespace of names and mounts. Where a host does not
 * share a directory, something else is mounted there.
 */
import { spawnSync } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { startPostgres } from "../../scripts/crash/postgres.mjs"
import { atEnd } from "./atEnd.ts"
import { sandbox } from "./cli.ts"
import { startLlm } from "./llm.ts"
import { startServer } from "./server.ts"
import { until } from "./until.ts"

/** Names a host, hides a directory there, and gives the machine another id. The system takes names that `hostname` refuses. */
const begin =
  `{ hostname "$0" 2> /dev/null || python3 -c 'import socket, sys; socket.sethostname(sys.argv[1])' "$0"; } && { [ -z "$1" ] || mount -t tmpfs other "$1"; } && { [ -z "$2" ] || mount --bind "$2" /etc/machine-id; }`

/** What runs a program on a host with this name, on which `hidden` is another directory. `id` is a file with its machine's id. */
export const onHost = (name: string, hidden?: string, id?: string) =>
  [
    ...["unshare", "--map-root-user", "--uts", "--mount"],
    ...["sh", "-c", `${begin} && shift 2 && exec "$@"`],
    ...[name, hidden ?? "", id ?? ""]
  ] as const

/** The PostgreSQL of such servers, or why there are none here. */
export const startHosts = async () => {
  const [command, ...args] = onHost("skein-probe", "/mnt")
  const probe = spawnSync(command, [...args, "hostname"], { encoding: "utf8" })
  return probe.stdout?.trim() === "skein-probe"
    ? await startPostgres().catch((error: unknown) => `PostgreSQL cannot be started here: ${String(error)}`)
    : `A process cannot get another host name here: ${probe.stderr}`
}

type Postgres = Exclude<Awaited<ReturnType<typeof startHosts>>, string>

let databases = 0

/** What a session on the host `alpha` begins with. */
interface AtAlpha {
  /** How many answers of the model hang before the others come. */
  readonly hanging?: number
  readonly agent?: string
  /** The config of the user on `alpha`. */
  readonly settings?: object
  /** The files of the project. */
  readonly files?: Readonly<Record<string, string>>
  /** Whether servers work alone, and not as a cluster. */
  readonly isAlone?: boolean
}

/** A session at work on the host `alpha`, whose first answers hang, and a way to start more servers. */
export const atAlpha = async (
  postgres: Postgres,
  { agent, files = {}, hanging = 1, isAlone = false, settings = {} }: AtAlpha = {}
) => {
  const database = `hosts_${++databases}`
  await postgres.create(database)
  const llm = await startLlm(() => llm.requests.length <= hanging ? { hangs: true } : "All is done.")
  atEnd(llm.close)
  const db = ["--db", postgres.url(database)]
  /** A place on a host to run programs in. */
  const placeOn = (name: string, hidden?: string, config: object = settings, id?: string) => {
    const at = sandbox({ llm: llm.url, through: onHost(name, hidden, id), files: name === "alpha" ? files : {} })
    const place = join(at.home, "config", "skein")
    mkdirSync(place, { recursive: true })
    writeFileSync(join(place, "skein.json"), JSON.stringify(config))
    return at
  }
  const serveAt = async (at: ReturnType<typeof placeOn>) => {
    const server = await startServer(at, [...(isAlone ? [] : ["--cluster"]), ...db])
    atEnd(async () => {
      server.child.kill("SIGKILL")
      await server.ended
      at.remove()
    })
    return { ...server, at }
  }
  const start = (name: string, hidden?: string, config?: object) => serveAt(placeOn(name, hidden, config))
  const first = await start("alpha")
  const { project } = first.at
  const { json: { host, id } } = await first.send("/v1/sessions", {
    directory: project,
    title: "t",
    model: { providerID: "openai", modelID: "m" },
    ...(agent === undefined ? {} : { agent })
  })
  if (host !== "alpha") throw new Error(`The session is on ${host}`)
  const { status } = await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
  if (status !== 202) throw new Error(`The prompt was answered with ${status}`)
  await llm.asked(1)
  /** Waits until `alpha` has proved that it sees the directory. */
  const proved = async () => {
    await until(async () => (await postgres.query(database, "SELECT 1 FROM skein.cluster_directory")).length > 0)
  }
  const done = async (server: typeof first) => {
    await until(async () =>
      JSON.stringify((await server.send(`/v1/sessions/${id}/messages`)).json).includes("All is done.")
    )
  }
  /** Waits for the takeovers that a server tells. */
  const takeovers = (server: typeof first) =>
    until(async () => {
      const { takeovers, waiting } = (await server.send("/v1/cluster")).json
      return takeovers.length > 0 && { takeovers, waiting }
    })
  /** Waits until a server says that the tree waits for its host. */
  const waiting = (server: typeof first) =>
    until(async () => {
      const { waiting } = (await server.send("/v1/cluster")).json
      return waiting.length > 0 && waiting
    })
  const holder = async () => (await postgres.query(database, "SELECT owner FROM skein.session"))[0].owner
  return {
    database,
    db,
    done,
    takeovers,
    first,
    holder,
    id: id as string,
    llm,
    placeOn,
    project,
    proved,
    start,
    waiting
  }
}
