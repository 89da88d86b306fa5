import { importTree } from "@skein/core/SessionArchive"
import type * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

/** Pieces that end within rows, numbers and characters. */
const pieceLength = 61

/** The text of an archive as it arrives: in pieces. */
const archived = (text: string): Stream.Stream<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  const starts = Array.from({ length: Math.ceil(bytes.length / pieceLength) }, (_, at) => at * pieceLength)
  return Stream.fromIterable(starts.map((at) => bytes.subarray(at, at + pieceLength)))
}

/** Imports the text of an archive. */
export const importText = (
  text: string,
  options?: Omit<NonNullable<Parameters<typeof importTree>[1]>, "accept">
): Effect.Effect<
  Effect.Effect.Success<ReturnType<typeof importTree<never, never>>>,
  Effect.Effect.Error<ReturnType<typeof importTree<never, never>>>,
  Effect.Effect.Context<ReturnType<typeof importTree<never, never>>>
> => importTree(archived(text), options)
