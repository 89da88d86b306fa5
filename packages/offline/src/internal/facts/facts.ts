/** Decides what lines of source and documentation say, and what grep searches for to find them: the door of this room. */
import { importPatterns } from "./imports.ts"
import { entryPattern, exportPattern, todoPattern } from "./marks.ts"

export { type Import, importsOf } from "./imports.ts"
export { readDocComment, readIntroduction } from "./introduction.ts"
export { type Manifest, manifestFolder, readManifest } from "./manifest.ts"
export { entriesOf, todosOf } from "./marks.ts"

/** What grep searches for. */
export const patterns = {
  /** Every line: counted, it gives the size of a file. */
  anyLine: "^",
  /** Imports, by family of languages. */
  imports: importPatterns,
  /** What a file offers to others. */
  exports: exportPattern,
  /** Where programs begin. */
  entries: entryPattern,
  /** What comments leave to be done. */
  todos: todoPattern
}
