/** The recipes of docs/server.md for proxies with TLS, as they stand there, before a server. Needs nginx or Caddy, and openssl. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { freePort } from "../scripts/crash/postgres.mjs"
import { root } from "../scripts/layout.mjs"
import { atEnd } from "./support/atEnd.ts"
import { withBrowser } from "./support/browser.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Script, startLlm } from "./support/llm.ts"
import { startServer } from "./support/server.ts"
import { until } from "./support/until.ts"

vi.setConfig({ testTimeout: 60_000 })

const guide = readFileSync(join(root, "docs", "server.md"), "utf8")

const has = (program: string, version: string): boolean => spawnSync(program, [version]).status === 0

const hasOpenssl = has("openssl", "version")

/** The proxies of the guide, and whether they can be tried here. */
const proxies = [
  { name: "nginx", isHere: hasOpenssl && has("nginx", "-v") },
  { name: "caddy", isHere: hasOpenssl && has("caddy", "version") }
] as const

type Proxy = (typeof proxies)[number]["name"]

const end = async (child: ChildProcess, signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, "exit")
}

interface Certificate {
  readonly directory: string
  readonly file: string
  readonly key: string
}

/** A certificate for `localhost` that nobody else has signed, in a directory of its own. */
const makeCertificate = (): Certificate => {
  const directory = mkdtempSync(join(tmpdir(), "skein-proxy-"))
  atEnd(() => rmSync(directory, { recursive: true, force: true }))
  const [file, key] = [join(directory, "skein.pem"), join(directory, "skein.key")]
  const { status, stderr } = spawnSync("openssl", [
    ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"],
    ...["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", file]
  ])
  if (status !== 0) throw new Error(String(stderr))
  return { directory, file, key }
}

/** Writes the recipe of the guide, in which only names, ports and files are changed, and returns what starts it. */
const commandFor = (
  proxy: Proxy,
  { directory, file, key }: Certificate,
  port: number,
  target: string
): readonly [string, ...ReadonlyArray<string>] => {
  const config = join(directory, proxy)
  const { host } = new URL(target)
  if (proxy === "caddy") {
    const recipe = /```\n(skein\.example \{[^]*?)```/.exec(guide)?.[1] ?? ""
    const site = recipe
      .replace("skein.example {", `https://localhost:${port} {\n  tls ${file} ${key}`)
      .replace("127.0.0.1:4096", host)
    writeFileSync(config, `{\n  admin off\n}\n${site}`)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", config]
  }
  const recipe = /```nginx\n([^]*?)```/.exec(guide)?.[1] ?? ""
  const server = recipe
    .replace("443 ssl", `127.0.0.1:${port} ssl`)
    .replace("skein.example", "localhost")
    .replace("/etc/ssl/skein.pem", file)
    .replace("/etc/ssl/skein.key", key)
    .replace("127.0.0.1:4096", host)
  const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) =>
    `${name}_temp_path ${join(directory, name)};`
  )
  writeFileSync(
    config,
    `daemon off; pid ${join(directory, "pid")}; error_log stderr;
    events {} http { access_log off; ${places.join(" ")} ${server} }`
  )
  return ["nginx", "-c", config, "-p", directory]
}

/** Starts a proxy before a server; it ends with the test. */
const startProxy = async (proxy: Proxy, certificate: Certificate, port: number, target: string): Promise<void> => {
  const [program, ...args] = commandFor(proxy, certificate, port, target)
  const env = { ...process.env, HOME: certificate.directory, XDG_DATA_HOME: certificate.directory }
  const child = spawn(program, args, { env, stdio: ["ignore", "ignore", "pipe"] })
  let said = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => said += text)
  // A killed nginx would leave its workers behind.
  atEnd(() => end(child, "SIGTERM"))
  await until(() => {
    if (child.exitCode !== null) throw new Error(said)
    // It does not speak plain HTTP there, and says so.
    return fetch(`http://localhost:${port}`).then(() => true, () => false)
  })
}

/** A server behind a proxy, and a run whose user trusts its certificate. */
const world = async (proxy: Proxy, script: Script) => {
  const llm = await startLlm(script)
  atEnd(llm.close)
  const at: Sandbox = sandbox({ llm: llm.url })
  atEnd(at.remove)
  const certificate = makeCertificate()
  const [port, own] = [await freePort(), await freePort()]
  const url = `https://localhost:${port}`
  const serve = async () => {
    const server = await startServer(at, ["--port", String(own), "--public-url", url])
    atEnd(() => end(server.child))
    return server
  }
  const server = await serve()
  await startProxy(proxy, certificate, port, server.url)
  const run = (...args: ReadonlyArray<string>) =>
    at.start(["run", "-m", "openai/m", `--attach=${url}`, ...args], {
      env: { NODE_EXTRA_CA_CERTS: certificate.file }
    })
  return { llm, run, serve, server, url }
}

/** Answers with a call at once, and with the end only once it may. */
const waiting = () => {
  let release = () => {}
  const mayEnd = new Promise<void>((resolve) => release = resolve)
  const script: Script = async ({ last, messages }) => {
    if (last === "More") return "It is back."
    if (!messages.some(({ role }) => role === "tool")) return { calls: [{ tool: "list", args: {} }] }
    await mayEnd
    return "All is done."
  }
  return { script, release }
}

for (const { isHere, name } of proxies) {
  describe.skipIf(!isHere)(`a server behind ${name} (needs that and openssl)`, () => {
    it("shows an attached run as it works, and ends it with the answer", async () => {
      const { release, script } = waiting()
      const { run, url } = await world(name, script)
      const running = run("Go")
      // The model does not answer yet, and nothing is held back.
      await until(() => running.output().includes("> list"))
      release()
      expect(await running.ended).toMatchObject({
        code: 0,
        stdout: "All is done.\n",
        stderr: expect.stringContaining(`server: ${url} `)
      })
    })

    it("may be restarted while the proxy answers for it, and the run continues", async () => {
      const { release, script } = waiting()
      const { llm, run, serve, server } = await world(name, script)
      const running = run("Go")
      await llm.asked(2)
      await end(server.child)
      await until(() => running.output().includes("is lost"))
      const more = await run("More").ended
      expect([more.code, more.stderr]).toEqual([2, expect.stringContaining("(HTTP 502)")])
      release()
      await serve()
      expect(await running.ended).toMatchObject({
        code: 0,
        stdout: "All is done.\n",
        stderr: expect.stringContaining("Connected to the server again.")
      })
    })

    withBrowser(({ open }) =>
      it("shows the page, and in it what an agent does as it does it, also after a restart", async () => {
        const { release, script } = waiting()
        const { serve, server } = await world(name, script)
        const { page, problems } = await open(undefined, { ignoreHTTPSErrors: true })
        await page.goto(server.line)
        await page.getByText("New session").first().waitFor()
        const { json: { id } } = await server.send("/v1/sessions", {
          directory: "/tmp",
          title: "behind a proxy",
          model: { providerID: "openai", modelID: "m" }
        })
        await page.getByText("behind a proxy").first().click()
        await server.send(`/v1/sessions/${id}/prompt`, { text: "Go" })
        await page.getByText("list .").first().waitFor({ state: "attached" })
        release()
        await page.getByText("All is done.").first().waitFor()
        await end(server.child)
        await page.locator(".badge.reconnecting, .badge.disconnected").first().waitFor()
        await (await serve()).send(`/v1/sessions/${id}/prompt`, { text: "More" })
        await page.getByText("It is back.").first().waitFor()
        expect(problems).toEqual([])
      })
    )
  })
}
