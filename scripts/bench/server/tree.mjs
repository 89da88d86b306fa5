// @ts-check
// A tree of 100 subagents through a server, with a client that follows its events, compared with `skein run`.
import { spawn } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileName, files, sentinel } from "../conversation.mjs"
import { startModel } from "../measure.mjs"
import { median } from "../median.mjs"
import { makeHome, program, serve } from "./serve.mjs"

const subagents = 100

/** A home whose project has the files that the subagents read, and a model for them. */
const prepare = async () => {
  const { project } = makeHome()
  const model = await startModel({ project, latency: 0 })
  const at = { ...makeHome({ model: `${model.address}/v1` }), project }
  for (let index = 0; index < files; index++) writeFileSync(join(project, fileName(index)), `${sentinel(index)}\n`)
  const end = () => {
    model.stop()
    for (const path of [at.home, join(project, "..")]) rmSync(path, { recursive: true, force: true })
  }
  return { at, end }
}

const prompt = `FANOUT n=${subagents} k=3`

const byRun = async () => {
  const { at, end } = await prepare()
  const began = performance.now()
  const child = spawn(process.execPath, [...program, "run", "--model", "openai/m", "--format", "json", prompt], {
    cwd: at.project,
    env: at.env,
    stdio: ["ignore", "pipe", "inherit"]
  })
  child.stdout.resume()
  const code = await new Promise((resolve) => child.once("close", resolve))
  const took = performance.now() - began
  end()
  if (code !== 0) throw new Error(`skein run ended with ${code}`)
  return took
}

const byServer = async () => {
  const { at, end } = await prepare()
  const server = await serve(at)
  const { id } = await server.send("POST", "/v1/sessions", {
    directory: at.project,
    model: { providerID: "openai", modelID: "m" }
  })
  await server.stream(`/v1/sessions/${id}/events?from=0`, () => undefined)
  const began = performance.now()
  const turn = await server.send("POST", `/v1/sessions/${id}/prompt?wait=true`, { text: prompt })
  const took = performance.now() - began
  const { items } = await server.send("GET", `/v1/tasks?session=${id}`)
  await server.close()
  end()
  if (turn.end !== "completed" || items.length !== subagents) {
    throw new Error(`The server answered ${JSON.stringify(turn)}`)
  }
  return took
}

/** @param {number} rounds */
export const measureTree = async (rounds) => {
  /** @type {{ run: Array<number>, server: Array<number> }} */
  const walls = { run: [], server: [] }
  for (let round = 0; round < rounds; round++) {
    walls.run.push(await byRun())
    walls.server.push(await byServer())
  }
  const run = median(walls.run)
  const ratio = median(walls.server) / run
  return [{
    name: `${subagents} subagents through the server`,
    value: `${ratio.toFixed(2)} x`,
    target: `at most 1.15 x of ${run.toFixed(0)} ms by skein run`,
    met: ratio <= 1.15
  }]
}
