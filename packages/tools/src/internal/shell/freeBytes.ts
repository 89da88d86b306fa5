/** Gives memory back before the collector does. */
import { MessageChannel } from "node:worker_threads"

/** Smaller ones may share their memory with others. */
const least = 16 * 1024

/**
 * A port that nobody listens at: what is handed to it is gone at once. Node reads a child's output into new memory each
 * time and takes no notice of it below some 64 MB, so that a long output would cost that much, whatever is kept of it.
 */
const { port1: sink, port2: other } = new MessageChannel()
other.close()

/** Gives back the memory of a large buffer that nobody uses any more; others it leaves alone. */
export const freeBytes = (bytes: Buffer): void => {
  const memory = bytes.buffer
  if (!(memory instanceof ArrayBuffer) || memory.byteLength < least || bytes.length !== memory.byteLength) return
  sink.postMessage(undefined, [memory])
}
