/** Hands the frames of a client to their methods in the order in which they were sent. */
import type { AnyMessage } from "@agentclientprotocol/sdk/unstable"

/**
 * The frames, each once the method of the one before it was called. The SDK calls some methods a few microtasks later than
 * others, so a prompt could overtake the cancel that was sent before it. `pause` resolves when all microtasks have run.
 */
export const inOrder = (
  frames: ReadableStream<AnyMessage>,
  pause: () => Promise<void>
): ReadableStream<AnyMessage> =>
  frames.pipeThrough(
    new TransformStream<AnyMessage, AnyMessage>({
      transform: (frame, controller) => {
        controller.enqueue(frame)
        return pause()
      }
    })
  )
