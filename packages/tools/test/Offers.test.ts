/** What the answer `always` offers: the narrowest rule that is useful, which then allows what was asked for. */
import { expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { decided, layerDecisions } from "./support/decisions.ts"
import { Workspace } from "./workspace.ts"

const offered = Effect.fnUntraced(function*(tool: string, input: object) {
  const { asks } = yield* Workspace
  return (yield* asks(tool, input)).at(-1)?.always ?? []
})

layer(layerDecisions)((it) => {
  it.effect("names what a program runs and the word that says what to do, and allows that from then on", () =>
    Effect.gen(function*() {
      const table: ReadonlyArray<readonly [command: string, rule: string, also: string, not: string]> = [
        ["npx vitest run src/a.test.ts", "npx vitest run *", "npx vitest run --reporter dot", "npx vitest watch"],
        ["npx tsc -b", "npx tsc *", "npx tsc --noEmit", "npx tsx a.ts"],
        ["python3 -m pytest -q tests", "python3 -m pytest *", "python3 -m pytest -x", "python3 -m http.server"],
        ["npm run build -- --fast", "npm run build *", "npm run build", "npm run deploy"],
        ["git -C packages/core push", "git -C packages/* push *", "git -C packages/cli push", "git -C other push"],
        ["aws s3 ls", "aws s3 ls *", "aws s3 ls x", "aws configure set a b"],
        ["helm list -a", "helm list *", "helm list", "helm install x y"],
        ["docker ps -a", "docker ps *", "docker ps", "docker rm x"],
        ["nobody-knows show x", "nobody-knows show *", "nobody-knows show y", "nobody-knows set x"],
        ["git -C sub push", "git -C sub push *", "git -C sub push origin", "git -C sub2 push"]
      ]
      for (const [command, rule, also, not] of table) {
        expect(yield* offered("bash", { command }), command).toEqual([rule])
        const rules = { "*": "ask", external_directory: "allow", read: "allow", bash: { [rule]: "allow" } } as const
        expect(yield* decided(command, rules), command).toBe("allow")
        expect(yield* decided(also, rules), also).toBe("allow")
        expect(yield* decided(not, rules), not).toBe("ask")
      }
    }))

  it.effect("offers no wildcard for a script, and nothing where the rule would say more than was shown", () =>
    Effect.gen(function*() {
      expect(yield* offered("bash", { command: "python3 scripts/a.py x" })).toEqual(["python3 scripts/a.py x"])
      expect(yield* offered("bash", { command: "git -C packages/* push" })).toEqual([])
      expect(yield* offered("bash", { command: "npx 'vi*' run" })).toEqual([])
    }))

  it.effect("names the directory of a file that is edited", () =>
    Effect.gen(function*() {
      const write = (filePath: string) => offered("write", { filePath, content: "x" })
      expect(yield* write("src/core/a.ts")).toEqual(["src/core/**"])
      expect(yield* write("README.md")).toEqual(["README.md"])
      expect(yield* write("src/a*.ts")).toEqual([])
    }))
})
