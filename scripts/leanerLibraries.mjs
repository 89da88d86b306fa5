// @ts-check
// Replaces slow code of libraries in the bundle, without changing their behaviour.
import { readFileSync } from "node:fs"

const core = "effect/dist/esm/internal/core.js"
const fiberRefs = "effect/dist/esm/internal/fiberRefs.js"
const fiberRuntime = "effect/dist/esm/internal/fiberRuntime.js"
const tracer = "effect/dist/esm/internal/tracer.js"
const mcpShims = "@modelcontextprotocol/client/dist/shimsNode.mjs"
const openAi = "@ai-sdk/openai/dist/index.mjs"
const providerUtils = "@ai-sdk/provider-utils/dist/index.mjs"

/**
 * A file of a library, a text in it, and what stands there instead.
 * @type {ReadonlyArray<readonly [file: string, text: RegExp, instead: string]>}
 */
const leaner = [
  // A checker of JSON Schema with everything it knows, for answers of MCP tools: nobody asks for it.
  [mcpShims, /import \{ n as AjvJsonSchemaValidator \} from "[^"]*";/, "const AjvJsonSchemaValidator = undefined;"],
  // zod imported as one object, of which nothing can be left out, has messages in fifty languages. As a namespace it is the
  // same, at a third of the size.
  [openAi, /import \{ z \} from "zod\/v4";/g, "import * as z from \"zod/v4\";"],
  [openAi, /import \{ z as (\w+) \} from "zod\/v4";/g, "import * as $1 from \"zod/v4\";"],
  // Node's own Headers, made and taken apart again twice a request, take a tenth of a short one, and their first use
  // loads all of undici before the first request.
  [providerUtils, /headers instanceof Headers(?=\))/, "typeof headers.getSetCookie === \"function\""],
  [
    providerUtils,
    /new Headers\((normalizeHeaders\(headers\))\)/,
    "new Map(Object.entries($1).map(([name, value]) => [name, String(value).trim()]))"
  ],
  // Whether a minifier left the name of a function in stack traces is known here: to see it in one, V8 counts the lines of
  // the whole program first.
  ["effect/dist/esm/Utils.js", /(?<=const isNotOptimizedAway = ).*(?=;)/, "true"],
  // Each operation of a fiber makes up to three closures: one for tracers that keep a context, and the others mark where a
  // stack trace ends. A method of the same name marks that place without a closure.
  [tracer, /^(?=export const nativeTracer = )/m, "export const withoutContext = f => f();\n"],
  [tracer, /(?<=^ {2}context: )f => f\(\)$/m, "withoutContext"],
  [
    fiberRuntime,
    /cur = this\.currentTracer\.context\(\(\) => \{.*?return this\[cur\._op\]\(cur\);\s*\}, this\);/s,
    "cur = this.currentTracer.context === tracer.withoutContext ? this.effect_internal_function(cur) : this.inContext(cur);"
  ],
  [
    fiberRuntime,
    /^(?= {2}runLoop\(effect0\) \{)/m,
    "  effect_internal_function(op) { return this[op._op](op); }\n"
    + "  inContext(op) { return this.currentTracer.context(() => this.effect_internal_function(op), this); }\n"
  ],
  [fiberRuntime, /internalCall\(\(\) => (.+)\)(?=;$|\) \{$)/gm, "$1"],
  [core, /internalCall\(\(\) => (this\.effect_instruction_i0\([^()]*\))\)/g, "$1"],
  // What a fiber goes back to stays in memory while the fiber waits. Only what runs then is needed, and not the operation that
  // it followed, with all that this one was made of. Where nothing changes there is nothing to go back to.
  [
    fiberRuntime,
    /(?<=\[OpCodes\.OP_ON_SUCCESS\]\(op\) \{\s*this\.pushStack\()op(?=\);)/,
    "{ _op: OpCodes.OP_ON_SUCCESS, effect_instruction_i1: op.effect_instruction_i1 }"
  ],
  [
    fiberRuntime,
    /(?<=\[OpCodes\.OP_ON_FAILURE\]\(op\) \{\s*this\.pushStack\()op(?=\);)/,
    "{ _op: OpCodes.OP_ON_FAILURE, effect_instruction_i1: op.effect_instruction_i1 }"
  ],
  [
    fiberRuntime,
    /(?<=\[OpCodes\.OP_ON_SUCCESS_AND_FAILURE\]\(op\) \{\s*this\.pushStack\()op(?=\);)/,
    "{ _op: OpCodes.OP_ON_SUCCESS_AND_FAILURE, effect_instruction_i1: op.effect_instruction_i1, effect_instruction_i2: op.effect_instruction_i2 }"
  ],
  [
    fiberRuntime,
    /this\.pushStack\(new core\.RevertFlags\(revertFlags, op\)\);/,
    "if (newRuntimeFlags !== oldRuntimeFlags || runtimeFlags_.interruptible(newRuntimeFlags)) this.pushStack(revertingTo(revertFlags));"
  ],
  [
    fiberRuntime,
    /^(?=const contOpSuccess = )/m,
    `const reverting = new Map();
const revertingTo = patch => {
  const known = reverting.get(patch);
  if (known !== undefined) return known;
  const made = new core.RevertFlags(patch);
  reverting.set(patch, made);
  return made;
};
`
  ],
  // A fiber copies all its references to set one, also to what it is already. Whether two values are the same can be seen
  // without taking them apart; what is set to an equal one is set.
  [
    fiberRefs,
    /(?=^ {2}const locals = new Map\(self\.locals\);\n {2}unsafeUpdateAs)/m,
    "  const top = self.locals.get(fiberRef)?.[0];\n"
    + "  if (top !== undefined && top[1] === value && top[0][Equal.symbol](fiberId)) return self;\n"
  ],
  [fiberRefs, /Equal\.equals\(currentValue, value\)/, "currentValue === value"],
  // The same holds for what cleans up: it is made apart from the work before it, which would stay with it otherwise.
  [
    fiberRuntime,
    /(?<=^export const ensuring = .*matchCauseEffect\(restore\(self\), )\{.*?^\}(?=\)\)\);$)/ms,
    "ensuredBy(finalizer)"
  ],
  [
    fiberRuntime,
    /^(?=export const ensuring = )/m,
    `const ensuredBy = finalizer => ({
  onFailure: cause1 => core.matchCauseEffect(finalizer, {
    onFailure: cause2 => core.failCause(internalCause.sequential(cause1, cause2)),
    onSuccess: () => core.failCause(cause1)
  }),
  onSuccess: a => core.as(finalizer, a)
});
`
  ],
  [
    core,
    /(?<=^export const onExit = .*matchCauseEffect\(restore\(self\), )\{.*?^\}(?=\)\)\);$)/ms,
    "exitedBy(cleanup)"
  ],
  [
    core,
    /^(?=export const onExit = )/m,
    `const exitedBy = cleanup => ({
  onFailure: cause1 => {
    const result = exitFailCause(cause1);
    return matchCauseEffect(cleanup(result), {
      onFailure: cause2 => exitFailCause(internalCause.sequential(cause1, cause2)),
      onSuccess: () => result
    });
  },
  onSuccess: success => {
    const result = exitSucceed(success);
    return zipRight(cleanup(result), result);
  }
});
`
  ],
  [
    core,
    /(?<=^export const acquireUseRelease = .*flatMap\(exit\(suspend\(\(\) => restore\(use\(a\)\)\)\), )exit => \{.*?^\}(?=\)\)\)\);$)/ms,
    "releasing(release, a)"
  ],
  [
    core,
    /^(?=export const acquireUseRelease = )/m,
    `const releasing = (release, a) => exit => suspend(() => release(a, exit)).pipe(matchCauseEffect({
  onFailure: cause => exit._tag === OpCodes.OP_FAILURE
    ? failCause(internalCause.sequential(exit.effect_instruction_i0, cause))
    : failCause(cause),
  onSuccess: () => exit
}));
`
  ],
  [core, /(?<=^export const exit = self => )matchCause\(self, \{.*?^\}\)(?=;$)/ms, "matchCauseEffect(self, exited)"],
  [
    core,
    /^(?=export const exit = )/m,
    "const exited = { onFailure: cause => succeed(exitFailCause(cause)), onSuccess: value => succeed(exitSucceed(value)) };\n"
  ],
  // To have a reference set for a while, as each `provide` has the context, is nine operations and not twenty-four.
  [
    core,
    /(?<=^export const fiberRefLocally = .*\(use, self, value\) => ).*(?=\);$)/m,
    `uninterruptibleMask(restore => withFiberRuntime(state => {
  const before = state.getFiberRef(self);
  state.setFiberRef(self, value);
  return flatMap(exit(restore(use)), settingBack(state, self, before));
}))`
  ],
  [
    core,
    /^(?=export const fiberRefLocally = )/m,
    "const settingBack = (state, ref, before) => ended => { state.setFiberRef(ref, before); return ended; };\n"
  ],
  // Services are mostly provided where they already are. Then there is nothing to copy, and nothing to set.
  [
    "effect/dist/esm/internal/context.js",
    /(?<=^export const merge = .*\(self, that\) => \{\n)/m,
    "  if (hasAll(self.unsafeMap, that.unsafeMap)) return self;\n"
  ],
  [
    "effect/dist/esm/internal/context.js",
    /^(?=export const merge = )/m,
    `const hasAll = (here, there) => {
  for (const [tag, service] of there) {
    if (here.get(tag) !== service || (service === undefined && !here.has(tag))) return false;
  }
  return true;
};
`
  ],
  [
    core,
    /(?<=^export const provideSomeContext = .*\(self, context\) => ).*(?=\);$)/m,
    `withFiberRuntime(state => {
  const present = state.getFiberRef(currentContext);
  const merged = Context.merge(present, context);
  return merged === present ? self : fiberRefLocally(self, currentContext, merged);
})`
  ]
]

/** @type {import("esbuild").Plugin} */
export const leanerLibraries = {
  name: "leaner-libraries",
  setup: (build) => {
    for (const file of new Set(leaner.map(([of]) => of))) {
      const own = leaner.filter(([of]) => of === file)
      const filter = new RegExp(`[\\\\/]node_modules[\\\\/]${file.replaceAll(".", "\\.").replaceAll("/", "[\\\\/]")}$`)
      build.onLoad({ filter }, ({ path }) => {
        const source = readFileSync(path, "utf8")
        const warnings = own.filter(([, text]) => source.search(text) < 0).map(([, text]) => ({
          text: `${file} no longer contains ${text}: check what scripts/leanerLibraries.mjs replaces there, and why`
        }))
        return { contents: own.reduce((text, [, from, to]) => text.replace(from, to), source), warnings }
      })
    }
  }
}
