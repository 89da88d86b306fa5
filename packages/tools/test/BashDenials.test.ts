/** A rule that denies a command denies it in whatever form a line runs it. */
import { describe, expect, it, layer } from "@effect/vitest"
import { Session } from "@skein/core/Session"
import type { PermissionConfig } from "@skein/domain/Rule"
import { call } from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { execFileSync } from "node:child_process"
import { chmodSync } from "node:fs"
import { decided, layerDecisions } from "./support/decisions.ts"
import { Workspace } from "./workspace.ts"

/** All is allowed but one command. */
const noPush: PermissionConfig = { "*": "allow", bash: { "*": "allow", "git *": "allow", "git push *": "deny" } }

/** Ways to run `git push`. */
const pushes = [
  "git push",
  "git -C . push",
  "git -C sub -C .. push origin main",
  "git --no-pager push",
  "git -P push",
  "git -p push",
  "git --git-dir=.git push",
  "git --git-dir .git push",
  "git --work-tree=. push",
  "git --work-tree . --git-dir .git push",
  "git -c push.default=current push",
  "git -c alias.p=push p",
  "git -c alias.p='!git push' p",
  "git --config-env=push.default=X push",
  "git --exec-path=/tmp push",
  "/usr/bin/git push",
  "/usr/lib/git-core/git-push origin",
  "\\git push",
  "'git' \"push\"",
  "g''it pu\"sh\"",
  "GIT_TRACE=1 git push",
  "GIT_DIR=.git git push",
  "env GIT_DIR=.git git push",
  "env -i git push",
  "env -S 'git push'",
  "timeout 5 git -C . push",
  "timeout -k 3 5 nice -n 5 git push",
  "nice git push",
  "nohup git push",
  "sudo git push",
  "sudo -u me git -C . push",
  "doas git push",
  "command git push",
  "command -p git push",
  "builtin command git push",
  "exec git push",
  "time git push",
  "time -p git push",
  "stdbuf -oL git push",
  "setsid git push",
  "setsid -w timeout 3 git push",
  "ionice -c 3 git push",
  "chrt -o 0 git push",
  "taskset 1 git push",
  "flock .lock git push",
  "strace -f git push",
  "xargs git push",
  "echo push | xargs git",
  "echo 'git push' | xargs -0 sh -c",
  "git submodule foreach git push",
  "git submodule foreach 'git push'",
  "git rebase -x 'git push' HEAD~1",
  "git rebase --exec='git push' HEAD~1",
  "git bisect run git push",
  "bash -c 'git push'",
  "sh -c \"git -C . push\"",
  "bash <<< 'git push'",
  "bash <<EOF\ngit push\nEOF",
  "eval git push",
  "eval 'git push'",
  "eval \"git pu\"\"sh\"",
  "echo git push | sh",
  "echo Z2l0IHB1c2gK | base64 -d | bash",
  "printf 'git push' | bash -s",
  "find . -maxdepth 0 -exec git push \\;",
  "find . -maxdepth 0 -exec git -C . push {} +",
  "find . -maxdepth 0 -execdir git push \\;",
  "find . -maxdepth 0 -exec sh -c 'git push' \\;",
  "npx git push",
  "npx -y git-push",
  "npx -c 'git push'",
  "npm exec -- git push",
  "npm exec -c 'git push'",
  "pnpm exec git push",
  "pnpm dlx git push",
  "yarn exec git push",
  "bunx git push",
  "uv run git push",
  "poetry run git push",
  "x=push; git $x",
  "x=git; $x push",
  "g=git; p=push; \"$g\" \"$p\"",
  "$(echo git) push",
  "`which git` push",
  "git $(echo push)",
  "f() { git \"$@\"; }; f push",
  "f() { \"$@\"; }; f git push",
  "f() { $1 $2; }; f git push",
  "alias gp='git push'; gp",
  "shopt -s expand_aliases\nalias gp='git push'\ngp",
  "trap 'git push' EXIT",
  "git pus?",
  "git p*",
  "for c in push; do git $c; done",
  "sh scripts/x.sh",
  "bash scripts/x.sh",
  "./scripts/x.sh",
  ". scripts/x.sh",
  "source scripts/x.sh",
  "python3 -c 'import os; os.system(\"git push\")'",
  "python3 x.py",
  "node -e 'require(\"child_process\").execSync(\"git push\")'",
  "node src/index.js",
  "perl -e 'system \"git push\"'",
  "ruby -e '`git push`'",
  "awk 'BEGIN { system(\"git push\") }'",
  "sed -n '1e git push' f.txt",
  "rg --pre='git push' a",
  "rg --pre ./x.sh a",
  "tar cf /dev/null --use-compress-program='git push' f.txt",
  "tar -cf x.tar -I 'git push' f.txt",
  "GIT_SSH_COMMAND='git push' git fetch",
  "PAGER='git push' git log",
  "git config alias.p push && git p",
  "git p",
  "coproc git push",
  "{ git push; }",
  "(git -C . push)",
  "! git push",
  "watch git push",
  "script -qc 'git push' /dev/null",
  "ssh localhost git push",
  "parallel git ::: push",
  "busybox sh -c 'git push'",
  "vim -c '!git push' -c q",
  "npm run push",
  "make -f - <<< 'all: ; git push'",
  "systemd-run git push",
  "unshare git push",
  "xvfb-run git push",
  "echo \"git push\" > p.sh && sh p.sh",
  "docker run -v .:/r alpine git push",
  "git -c core.sshCommand='git push' fetch",
  "git --attr-source=HEAD push",
  "git --namespace x push",
  "git -- push",
  "npm run ship",
  "npm -s run push",
  "pnpm push",
  // Programs that nothing is known about.
  "setpriv git push origin main",
  "setpriv --reuid=0 git push",
  "choom -n 0 git push",
  "setarch -R git push",
  "linux64 git push",
  "x86_64 git -C . push",
  "gpg-agent --daemon git push",
  "dpkg-architecture -c git push",
  "debconf git push",
  "systemd-cat git push",
  "uclampset -m 0 git push",
  "nobody-knows --a b /usr/bin/git --no-pager push",
  "nobody-knows 'git push'",
  "nobody-knows --run='git push'",
  "timeout 5 setpriv choom -n 0 git push",
  "setpriv bash -c 'git push origin main'",
  "setpriv sh s.sh",
  "setpriv ./scripts/x.sh",
  "setpriv bin/tool",
  "setpriv npm run push",
  "linux64 s.sh",
  "capsh -- -c 'git push'",
  "rbash -c 'git push'",
  "rbash scripts/x.sh",
  "linux64 <<< 'git push'",
  "linux64 <<EOF\ngit push\nEOF",
  "linux64 < s.sh",
  "linux64 <(echo git push)",
  "echo git push | x86_64",
  "echo git push | (cd .; x86_64)",
  "echo git push | { true && nice x86_64; }",
  "while true; do x86_64; done <<< 'git push'",
  "f() { x86_64; }; echo git push | f",
  "composer exec git push",
  "mise exec -- git push",
  "rustup run stable git push",
  "echo git push | rbash",
  "echo git push | python3 -",
  // Options that run or load what they name.
  "nm --plugin ./e.so src/index.js",
  "apt-get -o APT::Update::Pre-Invoke::='git push' update",
  "apt-get -c apt.conf update",
  "ssh-keygen -D ./e.so",
  "ssh-add -s ./e.so",
  "openssl req -config x.cnf",
  "kubectl get pods --kubeconfig=kc",
  "helm list --post-renderer ./scripts/x.sh",
  "echo git push | capsh --",
  "echo git push | toybox sh"
]

/** What runs files of the project, each of which may push. */
const runners = [
  "make",
  "make -C . all",
  "gmake",
  "ninja",
  "ctest",
  "prove",
  "prove t/push.t",
  "just push",
  "rake push",
  "npm test",
  "npm install",
  "npm run build",
  "pnpm build",
  "yarn build",
  "bun test",
  "tox",
  "nox",
  "meson test",
  "bazel run //:push",
  "cmake --build .",
  "gradle push",
  "./gradlew push",
  "mvn verify",
  "pytest",
  "vitest run",
  "jest",
  "eslint .",
  "prettier --check .",
  "cargo build",
  "cargo test",
  "go test ./...",
  "go generate",
  "pip install -e .",
  "pre-commit run",
  "terraform apply",
  "docker compose up",
  "docker build .",
  "timeout 5 make",
  "true && make",
  "setpriv x",
  "nobody-knows build"
]

/** Lines that take the words of a command from a file, or from their input. */
const listed = [
  "xargs -a words git",
  "xargs -awords env git",
  "xargs --arg-file words git",
  "xargs --arg-file=words nice",
  "xargs -a words -o env",
  "find . -name x | xargs -a words git",
  "xargs -0I X X push < words",
  "xargs -I X -n 2 env < words",
  "xargs --replace git push < words",
  "xargs --process-slot-var X git < words",
  "parallel git < words",
  "parallel -a words git",
  "choom -n 0 git push",
  "setarch x86_64 -R git push",
  "i386 git push",
  "linux32 git push"
]

/** What such a rule has nothing to do with: mode `auto` goes on with it. */
const others = [
  "git status",
  "git --no-pager log --oneline",
  "git --no-pager log push",
  "git commit -m 'push; it'",
  "git fetch",
  "git stash push -m x",
  "npm test",
  "npm run build",
  "sed -i s/a/b/ src/index.js",
  "prettier --write src",
  "cp package.json b.json",
  "rm -rf dist",
  "find . -name x -delete",
  "tar czf a.tgz src",
  "docker ps",
  "cargo test",
  "make test",
  "echo push",
  "grep -rn 'git push' src",
  "for f in src/*; do wc -l \"$f\"; done",
  "git ls-files | xargs grep -n push",
  "x=$(wc -l < package.json); echo $x",
  "prettier --stdin-filepath a.ts < src/index.js",
  "echo push | tr a-z A-Z | sort | uniq -c",
  "nobody-knows --push src",
  "nobody-knows < /dev/null",
  "eslint src/index.js scripts/x.sh",
  "cat package.json | jq .scripts"
]

/** A repository with something to push, and scripts that do. */
const prepare = Effect.map(Workspace, ({ repo, top, write }) => {
  const git = (...args: ReadonlyArray<string>) => execFileSync("git", args, { cwd: repo })
  write(
    "package.json",
    JSON.stringify({ scripts: { push: "git -C . push", ship: "npm run push", test: "vitest run" } })
  )
  write("scripts/x.sh", "#!/bin/sh\nset -e\ngit --no-pager push\n")
  write("s.sh", "git push\n")
  write("bin/tool", "#!/usr/bin/env node\n")
  chmodSync(`${repo}/bin/tool`, 0o755)
  write("src/index.js", "require('child_process').execSync('git push')\n")
  git("init", "-q", "-b", "main")
  git("init", "-q", "--bare", `${top}/remote`)
  git("config", "remote.origin.url", `${top}/remote`)
  git("add", ".")
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-qm", "x")
  return { pushed: () => execFileSync("git", ["for-each-ref"], { cwd: `${top}/remote`, encoding: "utf8" }) }
})

/** A session whose model runs these commands at once, and whose questions mode `auto` answers. */
const running = (commands: ReadonlyArray<string>) =>
  Layer.unwrapEffect(
    Effect.map(Workspace, ({ tools }) =>
      SkeinTest.layer({ build: [call("bash", ...commands.map((command) => ({ command }))), "Done."] }, {
        tools: [...tools.values()],
        rules: noPush,
        asks: "auto"
      }))
  ).pipe(Layer.provideMerge(Workspace.layer))

describe("git push, denied", () => {
  it.scoped("is denied in mode auto in every form", () =>
    Effect.gen(function*() {
      const { repo } = yield* Workspace
      const { pushed } = yield* prepare
      const session = yield* Session.create({ directory: repo, agent: "build", title: "Test", mode: "auto" })
      yield* Session.prompt(session.id, "Go")
      const messages = yield* Effect.flatMap(Session, (service) => service.messages(session.id))
      const ran = messages.flatMap(({ parts }) => parts).flatMap((part) =>
        part.type === "tool" && !(part.state.status === "error" && part.state.error.tag === "permission")
          ? [part.state.input]
          : []
      )
      expect(ran).toEqual([])
      expect(pushed()).toBe("")
    }).pipe(Effect.provide(running(pushes))))

  it.scoped("is denied in mode auto without a sandbox to what runs files of the project", () =>
    Effect.gen(function*() {
      const { repo } = yield* Workspace
      yield* prepare
      const session = yield* Session.create({ directory: repo, agent: "build", title: "Test", mode: "auto" })
      yield* Session.prompt(session.id, "Go")
      const messages = yield* Effect.flatMap(Session, (service) => service.messages(session.id))
      const ended = messages.flatMap(({ parts }) => parts).flatMap((part) =>
        part.type === "tool" ? [[part.state.input, part.state.status === "error" && part.state.error.tag]] : []
      )
      expect(ended).toEqual(runners.map((command) => [{ command }, "permission"]))
    }).pipe(Effect.provide(running(runners))))

  layer(layerDecisions)((it) => {
    it.effect("lets mode auto run a program of the project that a rule allows by its name, and what runs nothing", () =>
      Effect.gen(function*() {
        yield* prepare
        const named: PermissionConfig = {
          ...noPush,
          read: "allow",
          bash: {
            "*": "allow",
            "make *": "allow",
            "npm run build": "allow",
            "prettier *": "allow",
            "nobody-knows *": "allow",
            "git push *": "deny"
          }
        }
        const allowed = [
          ...["make", "make -j4 all", "npm run build", "prettier --check src", "nobody-knows build"],
          ...["cargo fmt", "npm ls", "mkdir x", "curl https://example.com", "git status", "rm -rf dist"]
        ]
        for (const line of allowed) expect(yield* decided(line, named, undefined, "auto"), line).toBe("allow")
        for (const line of ["npm run test", "ninja", "eslint src"]) {
          expect(yield* decided(line, named, undefined, "auto"), line).not.toBe("allow")
        }
        expect(yield* decided("make", noPush, "auto")).toBe("allow")
        expect(yield* decided("make", noPush, "auto", undefined, ["network"])).not.toBe("allow")
      }))

    it.effect("is asked at least in modes ask and edits, although a rule allows all commands", () =>
      Effect.gen(function*() {
        yield* prepare
        for (const mode of ["ask", "edits"] as const) {
          const allowed = (lines: ReadonlyArray<string>, sandboxed?: typeof mode) =>
            Effect.filter(
              lines,
              (line) => Effect.map(decided(line, noPush, sandboxed, mode), (action) => action === "allow")
            )
          expect(yield* allowed([...pushes, ...listed, ...runners])).toEqual([])
          expect(yield* allowed([...pushes, ...listed], mode)).toEqual([])
          expect(yield* allowed(others, mode)).toEqual(others)
        }
      }))

    it.effect("stops nothing else in mode auto", () =>
      Effect.gen(function*() {
        yield* prepare
        const refused = yield* Effect.filter(
          others,
          (line) => Effect.map(decided(line, { ...noPush, read: "allow" }, "auto"), (action) => action !== "allow")
        )
        expect(refused).toEqual([])
      }))

    it.effect("denies a command of a package manager by all its names", () =>
      Effect.gen(function*() {
        const rules: PermissionConfig = {
          read: "allow",
          bash: {
            "npm *": "allow",
            "cargo *": "allow",
            "npm install *": "deny",
            "npm publish *": "deny",
            "cargo t *": "deny"
          }
        }
        const denied = [
          ...["npm i lodash", "npm add lodash", "npm -w a in lodash", "npm --silent install", "npm --prefix a i"],
          ...["npm --silent publish", "npm -w a publish", "timeout 9 npm publish", "cargo test", "cargo -q test --lib"],
          "cargo +nightly test"
        ]
        for (const line of denied) expect(yield* decided(line, rules), line).toBe("deny")
        for (const line of ["npm ci", "npm run publish", "cargo build"]) {
          expect(yield* decided(line, rules), line).toBe("allow")
        }
      }))

    it.effect("of one program says nothing about a subcommand of another", () =>
      Effect.gen(function*() {
        const rules: PermissionConfig = {
          bash: { "docker *": "allow", "git *": "allow", "brew *": "allow", "rm *": "deny" }
        }
        for (
          const line of [
            "docker rm web",
            "git rm --cached x",
            "docker compose rm web",
            "git config rm.x y",
            "brew rm x"
          ]
        ) {
          expect(yield* decided(line, rules), line).not.toBe("deny")
        }
        for (
          const line of [
            "docker run -it x rm y",
            "docker exec web rm -rf /",
            "git -c alias.x='!rm y' x",
            "setpriv rm -f victim",
            "choom -n 0 rm victim"
          ]
        ) {
          expect(yield* decided(line, rules), line).toBe("deny")
        }
      }))

    it.effect("never runs without a question in another mode", () =>
      Effect.gen(function*() {
        yield* prepare
        const allowed = yield* Effect.filter(
          pushes,
          (line) => Effect.map(decided(line, noPush), (action) => action === "allow")
        )
        expect(allowed).toEqual([])
      }))
  })
})
