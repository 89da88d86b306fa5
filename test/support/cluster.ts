/** Servers of one PostgreSQL database. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { startPostgres } from "../../scripts/crash/postgres.mjs"
import { atEnd } from "./atEnd.ts"
import { sandbox } from "./cli.ts"
import { type Llm, startLlm } from "./llm.ts"
import { startServer } from "./server.ts"

let databases = 0

/** Starts a server of a cluster with this config of the user, and these flags; it ends with the test. */
export const startRunner = async (
  llm: Llm,
  database: string,
  settings: object = {},
  flags: ReadonlyArray<string> = []
) => {
  const at = sandbox({ llm: llm.url })
  atEnd(at.remove)
  const config = join(at.home, "config", "skein")
  mkdirSync(config, { recursive: true })
  writeFileSync(join(config, "skein.json"), JSON.stringify(settings))
  const server = await startServer(at, ["--cluster", "--db", database, ...flags])
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return { ...server, at }
}

/** Starts three, and a session that works at the first of them; the first answer of the model hangs. They end with the test. */
export const startCluster = async (
  postgres: Awaited<ReturnType<typeof startPostgres>>,
  flags: ReadonlyArray<string> = []
) => {
  const database = `cluster_${++databases}`
  await postgres.create(database)
  const db = ["--db", postgres.url(database)]
  const llm: Llm = await startLlm(({ last }) =>
    last === "Go" && llm.requests.length === 1 ? { hangs: true } : "All is done."
  )
  atEnd(llm.close)
  const start = () => startRunner(llm, postgres.url(database), {}, flags)
  const [first, second, third] = [await start(), await start(), await start()]
  const model = { providerID: "openai", modelID: "m" }
  const { json: { id } } = await first.send("/v1/sessions", { directory: first.at.project, title: "t", model })
  const { status } = await first.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
  if (status !== 202) throw new Error(`The prompt was answered with ${status}`)
  await llm.asked(1)
  return { llm, first, second, third, id: id as string, db }
}
