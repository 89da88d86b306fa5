/** Proves that a server works behind a proxy that keeps the host: for the command line, and for the page. */
import { writeFileSync } from "node:fs"
import { createServer, request as ask } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, it } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { startServer } from "./support/server.ts"

const place = (): Sandbox => {
  const made = sandbox()
  atEnd(made.remove)
  return made
}

const serve = async (at: Sandbox, args: ReadonlyArray<string>) => {
  const server = await startServer(at, args)
  atEnd(async () => {
    server.child.kill("SIGKILL")
    await server.ended
  })
  return server
}

/** A proxy that changes nothing of a request. */
const startProxy = async () => {
  let target = ""
  const proxy = createServer((request, response) => {
    const { headers, method, url = "/" } = request
    request.pipe(
      ask(new URL(url, target), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      }).on("error", () => response.destroy())
    )
  })
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve))
  atEnd(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    lead: (url: string) => void (target = url)
  }
}

it("serves the command line and the page at its public URL", async () => {
  const at = place()
  const { lead, url } = await startProxy()
  const server = await serve(at, ["--public-url", `${url}/`])
  lead(server.url)
  expect(server.line).toMatch(new RegExp(`^${url}/#code=`))
  const run = await at.run(["run", `--attach=${url}`, "Survey"])
  expect(run.code, run.stderr).toBe(0)
  expect(run.stderr).toContain(`server: ${url}`)
  const code = server.line.split("#code=")[1]
  const login = await fetch(`${url}/v1/login`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ code })
  })
  expect([login.status, await login.json()]).toEqual([200, { key: expect.any(String) }])
})

it("names the cause and the flag if the server does not know its public URL", async () => {
  const at = place()
  const { lead, url } = await startProxy()
  const server = await serve(at, [])
  lead(server.url)
  const run = await at.run(["run", `--attach=${url}`, "Survey"], { env: { SKEIN_TOKEN: server.token } })
  expect(run).toMatchObject({ code: 2, stderr: expect.stringContaining(`skein serve --public-url ${url}`) })
})

it("refuses a loopback address as the public URL of a server that listens on another one", async () => {
  const at = place()
  const file = `${at.home}/token`
  writeFileSync(file, "t".repeat(40), { mode: 0o600 })
  const args = ["--hostname", "10.0.0.1", "--token-file", file]
  for (const url of ["http://localhost:8088", "http://127.0.0.1:8088", "http://[::1]:8088"]) {
    const ended = await at.run(["serve", ...args, "--public-url", url])
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("each machine has for itself") })
  }
})

it.each([
  ["https://skein.example:99999", "is no valid URL"],
  ["skein.example", "has to begin with https://"]
])("says of %s as a public URL that it %s", async (url, fault) => {
  expect((await place().run(["serve", "--public-url", url])).stderr).toContain(fault)
})

it.each(["skein.example", "ftp://skein.example", "https://me:secret@skein.example", "https://skein.example/skein"])(
  "refuses %s as a public URL",
  async (url) => {
    const ended = await place().run(["serve", "--public-url", url])
    expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("--public-url") })
    expect(ended.stderr).not.toContain("me:secret")
  }
)
