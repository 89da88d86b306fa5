/** No form of a restriction in another tool's agent loosens it: the agent may not run commands, or does not exist. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { expect, layer } from "@effect/vitest"
import { agentsFrom } from "@skein/config/AgentsConfig"
import { builtins, defaultRules } from "@skein/core/Agent"
import { evaluate } from "@skein/core/Ruleset"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { loadIn, workspace } from "./workspace.ts"

const claude = [
  "tools: Read",
  "tools: [Read]",
  "tools:\n  - Read",
  "tools: {bash: false}",
  "tools: {Bash: false, read: true}",
  "tools: {\"*\": false, read: true}",
  "tools: Read, Bash(git:*)",
  "tools: [\"Bash(git status:*)\", Read]",
  "tools: []",
  "tools: \"\"\ndisallowedTools: Bash",
  "tools:\ndisallowedTools: Bash",
  "tools: \"*\"\ndisallowedTools: Bash",
  "tools: \"*\"\ntools: Read",
  "tools: Read\ntools: \"*\"",
  "tools: Read\nTools: Read, Bash",
  "Tools: read",
  "TOOLS: READ",
  "x: &a [Read]\ntools: *a",
  "tools: Read # and Bash",
  "tools: Read, Bash\ndisallowed_tools: [bash]",
  "disallowedTools: BASH",
  "disallowedTools: [{name: Bash}]",
  "disallowedTools: Bash(rm:*)",
  "permissions: {bash: deny}",
  "permissions: {Bash: deny}\ntools: Read, Bash",
  "permissions: {bash: {\"*\": deny}}",
  "permissions:\n  deny: [Bash]\n  allow: [Bash]",
  "permissions: {shell: never}",
  "permissions: {deny: [\"Bash(rm\"]}",
  "permissions: {deny: [7]}",
  "permissionMode: locked",
  "sandbox: {commands: none}",
  "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - type: command\n          command: ./guard.sh",
  "hooks: {PermissionRequest: [{}]}",
  "hooks: {SomethingNew: [{}]}",
  "hooks: ./hooks.json"
]

const openCode = [
  "permission: {bash: deny, \"*\": allow}",
  "permission: {\"*\": deny, read: allow}",
  "permission: {bash: {\"*\": deny, \"git *\": allow}}",
  "permission: {bash: {\"git *\": allow, \"*\": deny}}",
  "permission: deny",
  "permission:\n  bash: off",
  "tools: {bash: false}\npermission: {bash: allow}",
  "permission: {bash: deny}\ntools: {bash: true}",
  "permission: {shell: deny}",
  "permission: {Bash: deny}",
  "permission: {\"sh*\": deny}",
  "tools: {shell: false}",
  "permissions:\n  - {action: shell, resource: \"*\", effect: deny}",
  "permissions:\n  - {\"action\": \"shell\", \"resource\": \"rm *\", \"effect\": \"deny\"}",
  "permissions: [{action: bash, resource: \"*\", effect: deny}]",
  "permissions: [{action: \"*\", resource: \"*\", effect: deny}, {action: read, resource: \"*\", effect: allow}]",
  "permissions: [{action: \"sh?ll\", resource: \"*\", effect: deny}]",
  "permissions: [{action: shell, resource: \"*\", effect: deny}]\npermission: {bash: allow}",
  "permission: [{action: shell, resource: \"*\", effect: deny}]",
  "permissions: [{action: shell, effect: deny}]",
  "permissions: [{action: shell, resource: \"*\"}]",
  "permissions: [{action: shell, resource: \"*\", effect: perhaps}]",
  "permissions: [{action: shell, resource: 7, effect: ask}]",
  "permissions: [{resource: \"*\", effect: deny}]",
  "permissions: [{permission: bash, pattern: \"*\", action: deny}]",
  "permissions: [{tool: Bash}]",
  "permissions: [deny, {action: read, resource: \"*\", effect: allow}]"
]

layer(NodeFileSystem.layer)("a restriction of another tool's agent", (it) => {
  const written = [
    ...claude.map((front) => [".claude/agents", front] as const),
    ...openCode.map((front) => [".opencode/agent", front] as const),
    ...claude.slice(0, 4).map((front) => [".claude/agents/deep/below", front] as const)
  ]
  it.scoped.each(written)("in %s applies: %s", ([home, front]) =>
    Effect.gen(function*() {
      for (const name of ["a", "build"]) {
        const root = yield* workspace({ [`project/${home}/${name}.md`]: `---\nname: ${name}\n${front}\n---\nWork.` })
        const loaded = yield* loadIn(root)
        const found = Either.getOrThrow(agentsFrom(loaded.settings, builtins, loaded.origins, loaded.broken))
        const agent = found.agents.find((each) => each.name === name)
        const rules = [...defaultRules, ...found.permission, ...agent?.permission ?? []]
        expect(agent === undefined ? "deny" : evaluate(rules, "bash", "rm -rf x")).toBe("deny")
      }
    }))
})
