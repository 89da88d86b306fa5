import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { describeConfig } from "@skein/config/ConfigDescription"
import { defaults } from "@skein/core/Config"
import * as Effect from "effect/Effect"
import { loadFiles, userFile } from "./workspace.ts"

layer(NodeFileSystem.layer)("describeConfig", (it) => {
  it.scoped("lists every value with its origin, defaults included", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: { limits: { concurrency: 2 }, permission: { bash: { "*": "ask", "git *": "allow" } } },
        "project/skein.json": { permission: { bash: "deny" }, agent: { plain: {} } }
      })
      const { json, rows } = describeConfig(loaded)
      const user = (line: number) => `${loaded.root}/${userFile}:${line}`
      const project = (line: number) => `${loaded.root}/project/skein.json:${line}`
      expect(rows.filter(({ origin }) => origin !== "default")).toEqual([
        { path: "agent.plain", value: {}, origin: project(6) },
        { path: "limits.concurrency", value: 2, origin: user(3) },
        { path: "permission.bash", value: "ask", origin: user(7) },
        { path: "permission.bash", value: "deny", origin: project(3) },
        { path: "permission.bash.git *", value: "allow", origin: user(8) }
      ])
      expect(rows.filter(({ origin }) => origin === "default").map(({ path, value }) => `${path}=${String(value)}`))
        .toEqual([
          "compaction.auto=true",
          "compaction.threshold=0.9",
          "deadlines.connect=30000",
          "deadlines.first_event=120000",
          "deadlines.idle=120000",
          "default_agent=build",
          "events.keep=2592000000",
          "limits.answer.arguments=1000000",
          "limits.answer.calls=200",
          "limits.answer.nesting=100",
          "limits.answer.text=2000000",
          "limits.max_tasks=256",
          "limits.process_concurrency=64",
          "limits.program_tasks=10000",
          "limits.requests=64",
          "limits.subagent_depth=3",
          "limits.subagent_steps=100",
          "retry.attempts=5",
          "retry.base=2000",
          "retry.max_delay=30000",
          "retry.max_retry_after=3600000"
        ])
      expect(json).toEqual(loaded.settings)
      expect(json).toMatchObject({ limits: { ...defaults.limits, concurrency: 2 } })
    }))

  it.scoped("shows a default that follows another value correctly", () =>
    Effect.gen(function*() {
      const { json, rows } = describeConfig(
        yield* loadFiles({ [userFile]: { limits: { process_concurrency: 5 } } })
      )
      expect(rows.find(({ path }) => path === "limits.requests")).toMatchObject({ value: 5, origin: "default" })
      expect(json).toMatchObject({ limits: { requests: 5 } })
    }))

  it.scoped("shows no secret, in rows or JSON, and does not change the settings", () =>
    Effect.gen(function*() {
      const loaded = yield* loadFiles({
        [userFile]: {
          model: "a/{env:SECRET}",
          agent: { a: { model: ["b/c", "a/{env:SECRET}"], prompt: "{file:prompt}" } },
          provider: {
            p: {
              base_url: "https://me:s3cret@models.example/v1",
              headers: { Authorization: "Bearer s3cret", Other: "x{env:SECRET}" },
              package: "@acme/llm",
              options: { region: "north", secretAccessKey: "s3cret", deep: { token: "s3cret" } }
            }
          },
          mcp: {
            files: {
              command: [
                "node",
                "s.js",
                "--api-key=s3cret",
                "--token",
                "s3cret",
                "--header",
                "Authorization: Bearer s3cret"
              ],
              env: {
                API_KEY: "s3cret",
                PAT: "ghp-s3cret",
                REGION: "north",
                HOME_KEY: "{env:SECRET}",
                ALSO_KEY: "${SECRET}"
              }
            },
            docs: {
              url: "https://me:s3cret@docs.example/mcp?api_key=s3cret&v=1",
              headers: { Authorization: "Bearer s3cret", Named: "Bearer ${SECRET}", Other: "${UNSET:-s3cret}" }
            },
            plain: { command: ["node", "plain.js"], startup_timeout: "2s" }
          },
          telemetry: { endpoint: "https://me:s3cret@collector.example", headers: { Authorization: "Bearer s3cret" } }
        },
        "home/.config/skein/prompt": "s3cret"
      }, { env: { SECRET: "s3cret" } })
      const described = describeConfig(loaded)
      expect(JSON.stringify(described)).not.toContain("s3cret")
      expect(described.json).toMatchObject({
        model: "a/{env:SECRET}",
        agent: { a: { model: ["b/c", "a/{env:SECRET}"], prompt: "{file:prompt}" } },
        provider: {
          p: {
            base_url: "https://(hidden)@models.example/v1",
            headers: { Authorization: "(hidden)", Other: "x{env:SECRET}" },
            package: "@acme/llm",
            options: { region: "north", secretAccessKey: "(hidden)", deep: { token: "(hidden)" } }
          }
        },
        mcp: {
          files: {
            command: [
              "node",
              "s.js",
              "--api-key=(hidden)",
              "--token",
              "(hidden)",
              "--header",
              "Authorization: Bearer (hidden)"
            ],
            env: {
              API_KEY: "(hidden)",
              PAT: "(hidden)",
              REGION: "north",
              HOME_KEY: "{env:SECRET}",
              ALSO_KEY: "${SECRET}"
            }
          },
          docs: {
            url: "https://(hidden)@docs.example/mcp?api_key=(hidden)&v=1",
            headers: { Authorization: "Bearer (hidden)", Named: "Bearer ${SECRET}", Other: "(hidden)" }
          },
          plain: { command: ["node", "plain.js"], startup_timeout: 2_000 }
        },
        telemetry: { endpoint: "https://(hidden)@collector.example", headers: { Authorization: "(hidden)" } }
      })
      expect(described.rows.find(({ path }) => path === "model")?.value).toBe("a/{env:SECRET}")
      expect(loaded.settings.provider?.["p"]?.headers?.["Authorization"]).toBe("Bearer s3cret")
    }))
})
