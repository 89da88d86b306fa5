/** Proves that commands work through a server as they do by themselves, and that what they began outlives them. */
import { createHmac } from "node:crypto"
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Ended, type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, type Script, startLlm } from "./support/llm.ts"
import { serversOf, startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

const place = (options: Parameters<typeof sandbox>[0] = {}): Sandbox => {
  const made = sandbox(options)
  atEnd(made.remove)
  return made
}

const serve = async (at: Sandbox, args?: ReadonlyArray<string>) => {
  const server = await startServer(at, args)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return server
}

const model = async (script: Script): Promise<Llm> => {
  const llm = await startLlm(script)
  atEnd(llm.close)
  return llm
}

const gpt = ["-m", "openai/gpt-5"] as const

/** What a run says, without what differs between any two runs. */
const plainly = ({ code, stderr, stdout }: Ended) => {
  const ids = new Map<string, string>()
  const named = (text: string) =>
    text.replaceAll(/\b(ses|msg|prt|run|per|evt)_[0-9a-z]{22}\b/g, (id, kind: string) => {
      if (!ids.has(id)) ids.set(id, `${kind}_${ids.size}`)
      return ids.get(id) ?? id
    })
  return {
    code,
    stdout: named(stdout),
    stderr: named(stderr.split("\n").filter((line) => !line.startsWith("server: ")).join("\n"))
  }
}

/** The stored events of a run and its result, without what differs between any two runs. */
const events = ({ code, stdout }: Ended) => {
  const lines = stdout.trim().split("\n").map((line) => JSON.parse(line))
  const { exitCode, finish, outcome, text, error, usage } = lines.at(-1)
  const stored = lines.slice(0, -1).filter(({ seq }) => seq !== undefined)
  return {
    code,
    seqs: stored.map(({ seq }) => seq),
    types: stored.map(({ depth, type }) => `${depth} ${type}`).toSorted(),
    result: { exitCode, finish, outcome, text, tag: error?.tag, usage }
  }
}

const write = { tool: "write", args: { filePath: "new.txt", content: "x" } }

/** The ways in which a run ends. */
const ends: ReadonlyArray<{
  readonly name: string
  readonly script: Script
  readonly args?: ReadonlyArray<string>
  readonly signal?: NodeJS.Signals
  readonly code: number
}> = [
  {
    name: "done",
    script: ({ messages }) =>
      messages.some(({ role }) => role === "tool") ? "all done" : {
        calls: [{ tool: "task", args: { description: "look", prompt: "Look", subagent_type: "explore" } }]
      },
    code: 0
  },
  { name: "failed", script: () => ({ status: 400, message: "no such thing" }), code: 1 },
  {
    name: "denied",
    script: ({ messages }) => messages.some(({ role }) => role === "tool") ? "could not" : { calls: [write] },
    code: 3
  },
  {
    name: "out of budget",
    script: () => ({ calls: [{ tool: "list", args: {} }], tokens: { input: 900, output: 900 } }),
    args: ["--budget-tokens", "3000"],
    code: 4
  },
  { name: "out of time", script: () => ({ text: "so far", hangs: true }), args: ["--timeout", "1s"], code: 4 },
  { name: "SIGINT", script: () => ({ text: "so far", hangs: true }), signal: "SIGINT", code: 130 },
  { name: "SIGTERM", script: () => ({ text: "so far", hangs: true }), signal: "SIGTERM", code: 143 }
]

describe("a run through a server", () => {
  it.each(ends)(
    "that ends $name says and exits as one in its own process does",
    async ({ args = [], code, name, script, signal }) => {
      const llm = await model(script)
      const at = place({ llm: llm.url })
      const run = async (...more: ReadonlyArray<string>) => {
        const before = llm.requests.length
        const running = at.start(["run", ...gpt, "--title", "t", ...args, ...more, "Go"])
        if (signal !== undefined) {
          await llm.asked(before + 1)
          await until(() => llm.open() > 0)
          running.child.kill(signal)
        }
        return running.ended
      }
      const format = signal === undefined && name !== "denied" ? ["--format", "json"] : []
      const alone = await run(...format)
      await serve(at)
      const attached = await run(...format)
      if (format.length > 0) expect(events(attached)).toEqual(events(alone))
      else expect(plainly(attached)).toEqual(plainly(alone))
      if (format.length === 0) {
        expect(attached.stderr).toMatch(
          /^server: http:\S+ \(its environment, config and trust apply/m
        )
      }
      expect(attached.code).toBe(code)
      expect(llm.open()).toBe(0)
    }
  )
})

it("the command with which a run is said to continue reaches its server as printed", async () => {
  let isOver = false
  const llm = await model(() => isOver ? "the answer" : { status: 401, message: "no such key" })
  const at = place({ llm: llm.url })
  const { token, url } = await serve(at)
  const from = place({ llm: llm.url })
  const env = { SKEIN_TOKEN: token }
  const { code, stderr } = await from.run(["run", ...gpt, `--attach=${url}`, "--dir", at.project, "Go"], { env })
  expect(code).toBe(1)
  const [, command = ""] = /ontinue with `skein ([^`]+)`/.exec(stderr) ?? []
  isOver = true
  expect(await from.run(command.split(" "), { env })).toMatchObject({ code: 0, stdout: "the answer\n" })
})

it("a run whose session is deleted meanwhile says so, and names nothing to continue", async () => {
  const llm = await model(() => ({ text: "so far", hangs: true }))
  const at = place({ llm: llm.url })
  const server = await serve(at)
  const running = at.start(["run", ...gpt, "Go"])
  await llm.asked(1)
  const { json: { items: [{ id }] } } = await server.send("/v1/sessions")
  expect(await server.send(`/v1/sessions/${id}`, undefined, "DELETE")).toMatchObject({ status: 204 })
  const { code, stderr } = await running.ended
  expect(code).toBe(1)
  expect(stderr).toContain(`skein: The session ${id} was deleted during the run`)
  expect(stderr).not.toContain("sessions resume")
})

describe("a server in the middle of a run", () => {
  it("that is started again with another token ends the run, which says so", async () => {
    const llm = await model(() => ({ text: "so far", hangs: true }))
    const at = place({ llm: llm.url })
    const file = join(at.home, "token")
    const token = (letter: string) => writeFileSync(file, letter.repeat(64), { mode: 0o600 })
    token("a")
    const first = await serve(at, ["--token-file", file])
    const running = at.start(["run", ...gpt, `--attach=${first.url}`, "Go"], { env: { SKEIN_TOKEN: first.token } })
    await llm.asked(1)
    first.child.kill("SIGKILL")
    await first.ended
    token("b")
    await serve(at, ["--token-file", file, "--port", new URL(first.url).port])
    const { code, stderr } = await running.ended
    expect(code).toBe(1)
    expect(stderr).toContain(`The token of the server at ${first.url} has changed`)
    expect(stderr).toContain("SKEIN_TOKEN")
  })

  it("that is killed and restarted continues the turn, and the run ends with its answer", async () => {
    let isCut = false
    const llm = await model(({ user }) =>
      user.at(-1) === "Go" && !isCut ? { text: "so far", hangs: true } : "the answer"
    )
    const at = place({ llm: llm.url })
    const first = await serve(at)
    const running = at.start(["run", ...gpt, "Go"])
    await llm.asked(1)
    isCut = true
    first.child.kill("SIGKILL")
    await first.ended
    await until(() => /is lost/.test(running.output()))
    await serve(at)
    const ended = await running.ended
    expect(ended).toMatchObject({ code: 0, stdout: "the answer\n" })
    expect(ended.stderr).toContain("Connected to the server again.")
  })

  it("that is killed and restarted does not end those who wait for its tasks", async () => {
    let isCut = false
    const llm = await model(({ messages, user }) => {
      if (user[0] === "Work") return isCut ? "done later" : { text: "so far", hangs: true }
      return messages.some(({ role }) => role === "tool")
        ? "began it"
        : {
          calls: [{
            tool: "task",
            args: { description: "work", prompt: "Work", subagent_type: "general", background: true }
          }]
        }
    })
    const at = place({ llm: llm.url })
    const first = await serve(at)
    const { stderr } = await at.run(["run", ...gpt, "--no-wait", "Begin"])
    const task = /\((ses_\w+), general\) continues on the server/.exec(stderr)?.[1] ?? ""
    const { port } = new URL(first.url)
    const waits = [[], [`--attach=${first.url}`]].map((attach) => at.start(["tasks", "wait", task, ...attach]))
    await until(() => llm.requests.some(({ user }) => user[0] === "Work"))
    await until(() => waits.every((wait) => wait.output().startsWith("server: ")))
    isCut = true
    first.child.kill("SIGKILL")
    await first.ended
    await until(() => waits[0]?.output().includes("has ended. Waiting for one that continues"))
    await serve(at, ["--port", port])
    for (const wait of waits) {
      const { code, stdout } = await wait.ended
      expect(stdout).toContain("done later")
      expect(code).toBe(0)
    }
  })

  it("is left running by a closed terminal, and with --no-wait by a run that has its answer", async () => {
    const waiting: Array<(text: string) => void> = []
    const later = new Promise<string>((resolve) => waiting.push(resolve))
    const llm = await model(({ messages, user }) => {
      if (user[0] === "Work") return later
      if (user.length > 1 || user[0] === "Stay") return later
      return messages.some(({ role }) => role === "tool")
        ? "began it"
        : {
          calls: [{
            tool: "task",
            args: { description: "work", prompt: "Work", subagent_type: "general", background: true }
          }]
        }
    })
    const at = place({ llm: llm.url })
    const server = await serve(at)
    const noWait = await at.run(["run", ...gpt, "--no-wait", "Begin"])
    expect(noWait).toMatchObject({ code: 0, stdout: "began it\n" })
    const task = /\((ses_\w+), general\) continues on the server/.exec(noWait.stderr)?.[1] ?? ""
    const running = at.start(["run", ...gpt, "Stay"])
    await until(() => llm.requests.some(({ user }) => user[0] === "Stay"))
    running.child.kill("SIGHUP")
    const left = await running.ended
    expect(left.code).toBe(129)
    const session = /skein sessions show (ses_\w+)/.exec(left.stderr)?.[1] ?? ""
    expect(left.stderr).toContain("The turn continues on the server")
    expect((await server.send(`/v1/sessions/${session}`)).json.status.type).toBe("busy")
    for (const answer of waiting) answer("done later")
    expect(await at.run(["tasks", "wait", task])).toMatchObject({ code: 0 })
    const rest = await server.send(`/v1/sessions/${session}/rest`)
    expect(rest.json.turn).toMatchObject({ text: "done later" })
  })
})

describe("a database that is deleted below its server", () => {
  it("makes an attached run fail, which has its answer all the same", async () => {
    const llm = await model(() => {
      rmSync(at.database)
      return "the answer"
    })
    const at = place({ llm: llm.url })
    await serve(at)
    const { code, stdout } = await at.run(["run", ...gpt, "--title", "t", "--format", "json", "Go"])
    expect(code).toBe(1)
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({
      exitCode: 1,
      stored: false,
      error: { tag: "gone" }
    })
  })
})

describe("the server that a command finds", () => {
  it("has to prove that it is that server, and of this version, or is not used", async () => {
    const at = place({ files: { "a.txt": "a" } })
    const heard: Array<string> = []
    const stranger = createServer((request, response) => {
      heard.push(`${request.url} ${JSON.stringify(request.headers)}`)
      let body = ""
      request.on("data", (piece) => body += piece).on("end", () => {
        // It has no token, and asks the server.
        const headers = { "content-type": "application/json" }
        void fetch(`${server.url}${request.url}`, { method: "POST", headers, body })
          .then(async (answer) => response.writeHead(answer.status, headers).end(await answer.text()))
      })
    })
    await new Promise<void>((resolve) => stranger.listen(0, "127.0.0.1", resolve))
    atEnd(() => void stranger.close())
    const url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`
    const server = await serve(at)
    const [name = ""] = readdirSync(serversOf(at)).filter((each) => each.endsWith(".json"))
    const file = join(serversOf(at), name)
    const content = JSON.parse(readFileSync(file, "utf8"))
    const tell = (more: object) => writeFileSync(file, JSON.stringify({ ...content, ...more }))

    const attach = (where: string, env: Readonly<Record<string, string>> = {}) =>
      at.run(["run", `--attach=${where}`, "Survey"], { env })
    // By its file, by its URL, and by its URL with a token from the environment.
    expect(await attach(server.url)).toMatchObject({ code: 0 })
    expect(await attach(server.url, { SKEIN_TOKEN: server.token })).toMatchObject({ code: 0 })
    // Of several, the first that can be used.
    const later = await attach(`http://127.0.0.1:1,${server.url}`, { SKEIN_TOKEN: server.token })
    expect(later).toMatchObject({ code: 0, stderr: expect.stringContaining(`server: ${server.url} `) })
    const none = await attach(`http://127.0.0.1:1,${server.url}`, { SKEIN_TOKEN: "f".repeat(64) })
    expect([none.code, none.stderr]).toEqual([
      2,
      expect.stringMatching(/No server answers .* has another token\. Set SKEIN_TOKEN/)
    ])
    const wrong = await attach(server.url, { SKEIN_TOKEN: "f".repeat(64) })
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("the token was not sent") })
    expect(await attach("http://127.0.0.1:1")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("No token is known")
    })
    expect(await attach("sometimes")).toMatchObject({ code: 2, stderr: expect.stringContaining("auto, off, or") })

    tell({ url })
    // It passes the question on to the server, which does not know the address.
    const passed = await attach(url)
    expect(passed).toMatchObject({ code: 2, stderr: expect.stringContaining("does not know that address") })
    expect(passed.stderr).toContain("The token was not sent")
    const alone = await at.run(["run", "Survey"])
    expect(alone).toMatchObject({ code: 0, stderr: expect.not.stringContaining("server: ") })
    expect(heard.length).toBeGreaterThan(1)
    expect(heard.join()).not.toContain(server.token)

    tell({ version: "0.0.1" })
    const other = await at.run(["run", "Survey"])
    expect(other.code).toBe(0)
    expect(other.stderr).toContain("has version 0.0.1")
    expect(other.stderr).not.toContain("server: ")

    tell({ url: "http://127.0.0.1:1" })
    expect(await at.run(["run", "Survey"])).toMatchObject({ code: 0, stderr: expect.not.stringContaining("server: ") })
  })
})

describe("sessions, tasks and permissions through a server", () => {
  it("change what the server is at work on, and are listed as they are by a URL", async () => {
    const waiting: Array<(text: string) => void> = []
    const later = new Promise<string>((resolve) => waiting.push(resolve))
    const llm = await model(({ messages, user }) =>
      user[0] === "Work"
        ? later
        : messages.some(({ role }) => role === "tool")
        ? "began it"
        : {
          calls: [{
            tool: "task",
            args: { description: "work", prompt: "Work", subagent_type: "general", background: true }
          }]
        }
    )
    const at = place({ llm: llm.url })
    const server = await serve(at)
    const begun = await at.run(["run", ...gpt, "--no-wait", "--title", "T", "Begin"])
    const task = /\((ses_\w+), general\) continues on the server/.exec(begun.stderr)?.[1] ?? ""
    const listed = async (...args: ReadonlyArray<string>) =>
      JSON.parse((await at.run([...args, "--format", "json"])).stdout)
    const [session] = await listed("sessions", "list", `--attach=${server.url}`)
    expect(session).toMatchObject({ title: "T", usage: expect.anything() })
    expect(await at.run(["sessions", "rename", session.id, "New"])).toMatchObject({ code: 0 })
    expect(await at.run(["sessions", "mode", session.id, "edits"])).toMatchObject({ code: 0 })
    const shown = await listed("sessions", "show", session.id, `--attach=${server.url}`)
    expect(shown).toMatchObject({ session: { title: "New", mode: "edits" }, children: [{ id: task }] })
    expect(await listed("tasks", "list", `--attach=${server.url}`)).toMatchObject([{ taskID: task, state: "running" }])
    const [{ id: run }] = await listed("tasks", "show", task, `--attach=${server.url}`)
    expect(await listed("tasks", "show", run, `--attach=${server.url}`)).toMatchObject([{ id: run }])
    expect(await at.run(["tasks", "send", run, "Hurry"])).toMatchObject({
      code: 0,
      stdout: `The task ${task} reads it at its next step.\n`
    })
    const stopped = at.start(["tasks", "stop", task, "--reason", "enough"])
    await until(() => /is stopping/.test(stopped.output()))
    for (const answer of waiting) answer("so far")
    expect(await stopped.ended).toMatchObject({ code: 0, stdout: expect.stringContaining("stopped") })
    expect(await at.run(["sessions", "delete", session.id])).toMatchObject({ code: 0 })
    expect(await listed("sessions", "list", "--attach=off")).toEqual([])
    expect(await listed("permissions", "list", `--attach=${server.url}`)).toEqual([])
  })
})

describe("a signal before a run has a session", () => {
  it("says nothing of a turn that continues on the server", async () => {
    const at = place()
    const server = await serve(at)
    const [name = ""] = readdirSync(serversOf(at)).filter((each) => each.endsWith(".json"))
    const file = join(serversOf(at), name)
    const { version } = JSON.parse(readFileSync(file, "utf8"))
    let heard = 0
    // It proves to be the server, and answers nothing else.
    const silent = createServer((request, response) => {
      if (request.url !== "/v1/handshake") return void heard++
      let body = ""
      request.on("data", (piece) => body += piece).on("end", () => {
        response.setHeader("content-type", "application/json")
        const { host, nonce } = JSON.parse(body)
        const text = ["skein handshake", nonce, host, version].join("\n")
        const answer = createHmac("sha256", server.token).update(text).digest("hex")
        response.end(JSON.stringify({ answer, version }))
      })
    })
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve))
    atEnd(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), url }))
    const running = at.start(["run", "Survey"])
    await until(() => heard > 0)
    running.child.kill("SIGHUP")
    const { code, stderr } = await running.ended
    expect(code).toBe(129)
    expect(stderr).toContain("Stopped by SIGHUP.")
    expect(stderr).not.toContain("continues on the server")
  })
})
