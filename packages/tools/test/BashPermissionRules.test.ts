/** Rules as people write them: a wildcard behind what an interpreter runs counts, one in its place does not. */
import { describe, expect, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { decided, layerDecisions } from "./support/decisions.ts"

const cases: ReadonlyArray<readonly [rule: string, allowed: ReadonlyArray<string>, asked: ReadonlyArray<string>]> = [
  ["npx *", ["npx --version"], ["npx vitest", "npx -y evil"]],
  ["npx vitest *", ["npx vitest", "npx vitest run a.test.ts"], [
    "npx vitestx",
    "npx -p evil vitest",
    "npx -c 'vitest'",
    "npx -y vitest"
  ]],
  ["npm run *", ["npm run build", "npm run test -- --watch"], ["npm exec x", "npm --prefix x run y"]],
  ["npx tsx *", [], ["npx tsx -e 1", "npx tsx x.ts", "npx tsx@4 -e 1"]],
  ["npx tsx scripts/*", ["npx tsx scripts/x.ts"], ["npx tsx -e 1", "npx tsx x.ts"]],
  ["pnpm *", ["pnpm test", "pnpm build"], ["pnpm exec x", "pnpm touch x", "pnpm node -e 1"]],
  ["pnpm eslint *", ["pnpm eslint src"], ["pnpm eslintx src", "pnpm tsx x.ts"]],
  ["pnpm node *", [], ["pnpm node -e 1", "pnpm node x.js"]],
  ["yarn tsx *", [], ["yarn tsx -e 1"]],
  ["yarn vitest *", ["yarn vitest run"], ["yarn set version x"]],
  ["yarn set *", [], ["yarn set version x"]],
  ["node --test *", ["node --test", "node --test a.js"], ["node --test --import x", "node x.js"]],
  ["npm exec vitest *", ["npm exec vitest run"], ["npm exec evil"]],
  ["python -m pytest *", ["python -m pytest -x", "python -m pytest"], [
    "python -m http.server",
    "python -c 'x'",
    "python x.py"
  ]],
  ["python *", [
    "python -m pytest",
    "python -m unittest a.b",
    "python -m pip install x",
    "python -m venv .venv",
    "python -m json.tool a.json",
    "python x.py"
  ], [
    "python -c x",
    "python -i x.py",
    "python",
    "python -m timeit x",
    "python -m pdb -c x a.py",
    "python -m cProfile -m timeit x",
    "python -m trace --module timeit x",
    "python -m runpy x",
    "python -m code < f",
    "python -m asyncio < f",
    "python -m pip --python ./x.sh list",
    "python -m pip install --python ./x.sh x",
    "python -m mypy --python-executable ./x src"
  ]],
  ["vimdiff *", [], ["vimdiff -c '!x' a"]],
  ["vim.basic *", [], ["vim.basic -c '!x' a"]],
  ["editor *", [], ["editor -c '!x' a"]],
  ["sensible-editor *", [], ["sensible-editor -c '!x' a"]],
  ["cpp *", ["cpp -Isrc a.c"], ["cpp -wrapper ./x a.c"]],
  ["cpp-12 *", [], ["cpp-12 -wrapper ./x a.c"]],
  ["c99 *", ["c99 -c a.c"], ["c99 -wrapper ./x a.c"]],
  ["c89 *", [], ["c89 -specs=x a.c"]],
  ["perl5.36-x86_64-linux-gnu *", [], ["perl5.36-x86_64-linux-gnu -e x"]],
  ["prove *", ["prove -v t"], ["prove -e ./x t", "prove --exec ./x t"]],
  ["ctest *", ["ctest -j4"], ["ctest -S x"]],
  ["cpack *", ["cpack -G TGZ"], ["cpack --config x"]],
  ["choom *", [], ["choom -n 0 touch x"]],
  ["python -c *", [], ["python -c 'print(1)'"]],
  ["python3 scripts/gen.py *", ["python3 scripts/gen.py --fast"], ["python3 scripts/other.py"]],
  ["python3 scripts/*", ["python3 scripts/gen.py a"], ["python3 scripts/../x.py", "python3 -i scripts/gen.py"]],
  ["node --version", ["node --version"], ["node x.js"]],
  ["node scripts/build.mjs *", ["node scripts/build.mjs a"], [
    "node -r ./x scripts/build.mjs",
    "node --import ./x scripts/build.mjs"
  ]],
  ["docker ps*", ["docker ps", "docker ps -a"], ["docker run x", "docker -H x ps"]],
  ["docker *", ["docker ps", "docker compose up -d", "docker build -t x ."], [
    "docker run --privileged x",
    "docker exec x y",
    "docker -H x ps"
  ]],
  ["node *", ["node src/a.ts", "node --test src", "node x.js --fast"], [
    "node -e 1",
    "node -r ./x src/a.ts",
    "node --test --import x",
    "node"
  ]],
  ["bun *", ["bun test", "bun run build", "bun install"], ["bun -e 1", "bun x evil", "bunx evil"]],
  ["uv *", ["uv sync"], ["uv run python -c x", "uv run evil"]],
  ["docker compose ps*", ["docker compose ps"], ["docker compose run x", "docker compose -f x ps"]],
  ["uv run pytest *", ["uv run pytest -q"], ["uv run python x.py"]],
  ["uv run python *", [], ["uv run python x.py", "uv run python -c x"]],
  ["uv run python -m pytest *", ["uv run python -m pytest -q"], ["uv run python -m x"]],
  ["bash scripts/x.sh *", ["bash scripts/x.sh a"], ["bash -c 'x'", "bash scripts/y.sh"]],
  ["bash *", ["bash x.sh", "bash -e x.sh"], ["bash -c 'x'", "bash -s", "bash", "bash --rcfile x"]],
  ["bash -c *", [], ["bash -c 'x'"]],
  ["go run ./cmd/x *", ["go run ./cmd/x a"], ["go run ./cmd/y"]],
  ["cargo run *", ["cargo run -- a"], ["cargo install x", "cargo --config x run"]],
  ["sudo *", [], ["sudo ls", "sudo apt update"]],
  ["ssh host *", [], ["ssh host uptime"]],
  ["env *", [], ["env -S 'x y'", "env -C x y"]],
  ["git *", ["git commit -m x", "git revert --no-edit HEAD", "git clean -n"], ["git evil", "git bisect run x"]],
  ["kubectl get *", ["kubectl get pods", "kubectl get pods -n x -o yaml --context y"], [
    "kubectl get pods --kubeconfig=kc",
    "kubectl get --kubeconfig kc pods",
    "kubectl --kubeconfig=kc get pods"
  ]],
  ["kubectl *", ["kubectl get pods", "kubectl logs -f x"], ["kubectl get pods --kubeconfig=kc", "kubectl config view"]],
  ["nm *", ["nm x.so", "nm -D x.so"], ["nm --plugin ./e.so x", "nm --plugin=./e.so x", "nm --plug ./e.so x"]],
  ["objdump *", ["objdump -d x"], ["objdump --plugin x -d y"]],
  ["strip *", ["strip x"], ["strip --plugin ./e.so x"]],
  ["ld *", ["ld -o x y.o"], ["ld -plugin ./e.so y.o"]],
  ["apt-get *", ["apt-get update", "apt-get install -y --only-upgrade x"], [
    "apt-get -o APT::Update::Pre-Invoke::=x update",
    "apt-get update -oAPT::Update::Pre-Invoke::=x",
    "apt-get -yo Dir::Bin::dpkg=./x install y",
    "apt-get -c apt.conf update",
    "apt-get --config-file=apt.conf update"
  ]],
  ["helm *", ["helm list"], [
    "helm install x y --post-renderer ./z",
    "helm list --kubeconfig=kc",
    "helm plugin install x"
  ]],
  ["aws *", ["aws s3 ls"], ["aws configure set credential_process x"]],
  ["gcloud *", ["gcloud projects list"], [
    "gcloud compute ssh x",
    "gcloud config set a b",
    "gcloud --flags-file=x info"
  ]],
  ["systemctl *", ["systemctl status x --no-pager"], ["systemctl edit x"]],
  ["docker *", ["docker ps --filter status=exited"], ["docker --config evil ps"]],
  ["pkcs11-tool *", ["pkcs11-tool -L"], ["pkcs11-tool --provider-path ./x -L"]],
  ["nobody-knows *", ["nobody-knows --fast x", "nobody-knows --no-exec x"], [
    "nobody-knows --on-error-command x",
    "nobody-knows --pre-commit-hook=x",
    "nobody-knows -o ProxyCommand=x",
    "nobody-knows --exec-batch x"
  ]],
  ["vitest *", ["vitest run --environment-loader x", "vitest --config x"], []],
  ["sh", ["sh"], ["sh <<< 'x'", "sh -s < x.sh"]],
  ["bash x.sh", ["bash x.sh", "bash x.sh <<< y"], ["bash <<< x.sh"]],
  ["cmake --build *", ["cmake --build build"], ["cmake -P x.cmake"]]
]

describe("a rule", () => {
  layer(layerDecisions)((it) => {
    it.effect.each(cases)("%s", ([rule, allowed, asked]) =>
      Effect.gen(function*() {
        const rules = { read: "allow", bash: { "*": "ask", [rule]: "allow" } } as const
        for (const line of allowed) expect(yield* decided(line, rules), line).toBe("allow")
        for (const line of asked) expect(yield* decided(line, rules), line).toBe("ask")
      }))
  })
})
