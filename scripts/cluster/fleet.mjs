// @ts-check
// A cluster at work: servers on one PostgreSQL, a scripted model, and trees of subagents that never run out of work. Servers
// are struck while they work. What happened is compared with what the model asked for, outside of Skein.
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { startModel } from "../crash/model.mjs"
import { startPostgres } from "../crash/postgres.mjs"
import { builtProgram } from "../crash/world.mjs"
import { aboutIn, effectOf, makeScript, promptOf } from "./script.mjs"
import { makeServer } from "./server.mjs"

/** @typedef {{ readonly at: number, readonly server: number, readonly trees: number, readonly times: Array<number> }} Blow `times`: how long each tree was without a model request (ms) */
/** @typedef {import("./server.mjs").Server} Server */

/** How long to wait before a request is repeated, and before a tree gets its next round (ms). */
const pause = 200

const anHour = 3_600_000

const database = "fleet"

/** How many at once. */
const usualLimits = { concurrency: 1_000, process_concurrency: 5_000, max_tasks: 10_000, requests: 5_000 }

/**
 * Starts one.
 * @param {{ readonly trees: number, readonly parts?: number, readonly seconds?: number, readonly pace?: number, readonly servers?: number, readonly args?: ReadonlyArray<string>, readonly program?: string, readonly limits?: Readonly<Record<string, unknown>>, readonly hangs?: boolean, readonly isAlone?: boolean, readonly node?: ReadonlyArray<string>, readonly ends?: AbortSignal | undefined }} options
 *   `seconds`: how long a part takes; `hangs`: parts get no answer; `pace`: how long each piece of an answer takes (ms); `node`: options of
 *   Node; `isAlone`: servers are in no cluster; `ends` ends the start
 */
export const startFleet = async (
  {
    args = [],
    ends,
    hangs = false,
    isAlone = false,
    limits = usualLimits,
    node = [],
    pace = 100,
    parts = 2,
    program = builtProgram,
    seconds = 0,
    servers: count = 3,
    trees
  }
) => {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "skein-fleet-")))
  const project = join(base, "project")
  mkdirSync(project)
  mkdirSync(join(base, "config", "skein"), { recursive: true })
  const config = {
    permission: { "*": "allow" },
    sandbox: "off",
    limits,
    ...(hangs ? { deadlines: { first_event: anHour, idle: anHour } } : {})
  }
  writeFileSync(join(base, "config", "skein", "skein.json"), JSON.stringify(config))
  /** @type {Array<() => unknown>} */
  const closing = [() => rmSync(base, { recursive: true, force: true })]
  /** @type {Array<Server>} */
  const servers = []
  const abandon = () => {
    for (const server of servers) server.signal("SIGKILL")
    rmSync(base, { recursive: true, force: true })
  }
  // PostgreSQL's launcher ends the process at a signal.
  process.once("exit", abandon)
  const close = async () => {
    process.off("exit", abandon)
    for (const each of closing.splice(0).toReversed()) await each()
  }

  /** @type {Array<string>} */
  const trouble = []
  /** The rounds whose end was reported to the model, and who waits for them. */
  const ended = /** @type {Array<number>} */ (Array.from({ length: trees }, () => 0))
  /** The trees that wait for their first model request since a blow. @type {Map<number, { readonly since: number, readonly blow: Blow }>} */
  const struck = new Map()

  try {
    const postgres = await startPostgres({ statistics: true, ends })
    closing.push(postgres.stop)
    await postgres.create(database)
    let requests = 0
    const script = makeScript({
      parts,
      seconds,
      faults: trouble,
      ended: ({ round, tree }) => ended[tree] = Math.max(ended[tree] ?? 0, round)
    })
    const model = await startModel({}, (messages) => {
      const { tree } = aboutIn(messages)
      requests++
      const found = struck.get(tree)
      if (found !== undefined) {
        struck.delete(tree)
        found.blow.times.push(performance.now() - found.since)
      }
      return hangs && aboutIn(messages).part !== undefined ? undefined : script(messages)
    }, pace)
    closing.push(model.close)
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: base,
      XDG_CONFIG_HOME: join(base, "config"),
      SKEIN_DB: postgres.url(database),
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "sk-test-0123456789"
    }
    for (let number = 1; number <= count; number++) {
      ends?.throwIfAborted()
      const first = number === 1 ? args : []
      const server = await makeServer({ base, number, program, env, node, isAlone, args: first, ends })
      servers.push(server)
      closing.push(server.kill)
      // The first one creates the tables.
      await server.start()
    }

    /** @type {Array<string>} */
    const ids = []
    let isOver = false
    /** Sends a request to any server until it is answered. @param {string} path @param {string} key @param {unknown} body */
    const post = async (path, key, body) => {
      for (let turn = Math.floor(Math.random() * count); !closed(); turn++) {
        const server = servers[turn % count]
        try {
          if (server?.isUp() === true) {
            const response = await fetch(`${server.url}${path}`, {
              method: "POST",
              headers: {
                authorization: `Bearer ${server.token()}`,
                "content-type": "application/json",
                "idempotency-key": key
              },
              body: JSON.stringify(body),
              signal: AbortSignal.timeout(15_000)
            })
            const answer = /** @type {any} */ (await response.json())
            if (response.status < 300) return answer
            if (![409, 423, 503].includes(response.status)) trouble.push(`${path}: ${response.status} ${answer.detail}`)
          }
        } catch {
          // That is what this is about: the next server is asked.
        }
        await sleep(pause)
      }
      return undefined
    }
    let isClosed = false
    const closed = () => isClosed
    closing.push(() => isClosed = true)

    /** How many rounds each tree was asked for. */
    const asked = Array.from({ length: trees }, () => 0)

    /** Keeps a tree at work. @param {number} tree */
    const attend = async (tree) => {
      const created = await post("/v1/sessions", `create-${tree}`, {
        directory: project,
        title: `Tree ${tree}`,
        model: { providerID: "openai", modelID: "m" }
      })
      ids[tree] = created?.id ?? ""
      for (let round = 1; !isOver && !isClosed; round++) {
        asked[tree] = round
        await post(`/v1/sessions/${ids[tree]}/prompt`, `prompt-${tree}-${round}`, { text: promptOf(tree, round) })
        while ((ended[tree] ?? 0) < round && !isClosed) await sleep(pause / 4)
        await sleep(pause)
      }
    }
    const attending = Promise.all(Array.from({ length: trees }, (_, tree) => attend(tree)))

    /** @param {string} sql @param {ReadonlyArray<unknown>} [params] */
    const query = (sql, params) => postgres.query(database, sql, params)

    return {
      base,
      servers,
      model,
      postgres,
      query,
      trouble,
      ended,
      ids,
      /** How many model requests came. */
      requests: () => requests,
      /** Strikes a server, and measures from then on. @param {Server} server @param {() => Promise<unknown>} how @returns {Promise<Blow>} */
      strike: async (server, how) => {
        const held = await query(
          "SELECT id FROM skein.session WHERE starts_with(owner, $1)",
          [`${encodeURIComponent(server.url)}@`]
        )
        const here = new Set(held.map(({ id }) => id))
        const since = performance.now()
        const at = ids.flatMap((id, tree) => here.has(id) && (ended[tree] ?? 0) < (asked[tree] ?? 0) ? [tree] : [])
        /** @type {Blow} */
        const blow = { at: since, server: server.number, trees: at.length, times: [] }
        // What the server had sent before it died does not count.
        await how()
        for (const tree of at) struck.set(tree, { since, blow })
        return blow
      },
      /** Lets every tree end its round, and judges all. @param {number} patience in milliseconds */
      settle: async (patience) => {
        isOver = true
        const late = performance.now() + patience
        const isDone = () => asked.every((round, tree) => (ended[tree] ?? 0) >= round)
        while (!isDone() && performance.now() < late) await sleep(pause)
        const stuck = asked.flatMap((round, tree) =>
          (ended[tree] ?? 0) < round ? [`tree ${tree} in round ${round}`] : []
        )
        isClosed = stuck.length > 0
        await attending
        const unsettled = async () =>
          Number((await query("SELECT count(*) AS n FROM skein.inbox WHERE taken_at IS NULL"))[0]?.n)
        while (stuck.length === 0 && (await unsettled()) > 0 && performance.now() < late) await sleep(pause)
        const made = new Map()
        for (const name of readFileSync(join(project, "effects.log"), "utf8").trim().split("\n")) {
          made.set(name, (made.get(name) ?? 0) + 1)
        }
        const wanted = ended.flatMap((rounds, tree) =>
          Array.from(
            { length: rounds * parts },
            (_, at) => effectOf(tree, Math.floor(at / parts) + 1, (at % parts) + 1)
          )
        )
        const [prompts] = await query(
          "SELECT count(*)::integer AS n FROM skein.run WHERE data::json ->> 'outcome' IS NULL"
        )
        return {
          rounds: ended.reduce((sum, rounds) => sum + rounds, 0),
          lost: wanted.filter((name) => !made.has(name)),
          doubled: [...made].filter(([, times]) => times > 1).map(([name]) => name),
          stuck: [...stuck, ...(prompts?.n > 0 && stuck.length === 0 ? [`${prompts.n} runs without an outcome`] : [])],
          invalid: [...trouble, ...model.faults]
        }
      },
      close
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */
