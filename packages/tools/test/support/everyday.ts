/**
 * Some 400 commands as people and models write them every day, and what becomes of each without a sandbox: first under the default
 * rules, then under rules as users write them (`a` allowed, `?` asked for).
 */
import type { PermissionConfig } from "@skein/domain/Rule"
import { readFileSync } from "node:fs"

/** Rules of a user who works on such a project. */
export const typicalRules: PermissionConfig = {
  edit: "allow",
  bash: {
    ...Object.fromEntries(
      [
        "git add *",
        "git commit *",
        "git push *",
        "git pull *",
        "git fetch *",
        "git checkout *",
        "git switch *",
        "git branch *",
        "git stash *",
        "git merge *",
        "git rebase *",
        "git restore *",
        "git reset *",
        "git tag *",
        "git rm *",
        "git mv *",
        "git cherry-pick *",
        "npm run *",
        "npm test *",
        "npm ci *",
        "npm install *",
        "npm ls *",
        "npm outdated *",
        "npx tsc *",
        "npx vitest *",
        "npx eslint *",
        "npx prettier *",
        "pnpm *",
        "yarn *",
        "node --test *",
        "node scripts/*",
        "python -m pytest *",
        "python3 -m pytest *",
        "pytest *",
        "python scripts/*",
        "pip list *",
        "pip install *",
        "pip show *",
        "ruff *",
        "mypy *",
        "uv run pytest *",
        "cargo *",
        "rustc *",
        "go *",
        "gofmt *",
        "make *",
        "cmake --build *",
        "docker ps*",
        "docker logs *",
        "docker images*",
        "docker compose ps*",
        "docker compose logs *",
        "kubectl get *",
        "kubectl describe *",
        "kubectl logs *",
        "gh pr *",
        "gh issue *",
        "gh run *",
        "curl *",
        "mkdir *",
        "cp *",
        "mv *",
        "touch *",
        "rm *",
        "chmod *",
        "ps *",
        "gcc *",
        "tee *",
        "sleep *",
        "bash scripts/*"
      ].map((pattern) => [pattern, "allow" as const])
    )
  }
}

/** Rules of a user who names programs, and leaves their subcommands open. */
export const programRules: PermissionConfig = {
  edit: "allow",
  bash: Object.fromEntries(
    `bun cargo cp curl deno docker gh git go kubectl make mkdir mv mypy node npm pip pnpm pytest python python3 rm ruff touch tsc
    uv yarn`.split(/\s+/).concat("npx tsc", "npx vitest", "npx eslint", "npx prettier")
      .map((name) => [`${name} *`, "allow" as const])
  )
}

const read = (name: string): string => readFileSync(new URL(name, import.meta.url), "utf8")

/** Commands for those rules. */
export const programLines: ReadonlyArray<string> = read("everydayPrograms.txt").trim().split("\n")

const table = read("everyday.txt")

/** A command, and whether it is allowed under each set of rules. */
export interface Everyday {
  readonly command: string
  readonly byDefault: boolean
  readonly typically: boolean
}

/** The table, row by row. */
export const everyday: ReadonlyArray<Everyday> = table.trim().split(/\n\n(?=[a-z, ]+: )/).flatMap((group) => {
  const [head = "", ...rows] = group.trim().split("\n")
  const [byDefault, typically] = (head.split(": ")[1] ?? "").split(" ")
  // Only a here-document goes on over several lines.
  const commands = rows.join("\n").split(/\n(?!Fix the|\n|It took|EOF|\))/)
  return commands.map((command) => ({ command, byDefault: byDefault === "a", typically: typically === "a" }))
})
