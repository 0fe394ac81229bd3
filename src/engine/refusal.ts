/** A command that is answered with a 4xx or 5xx; the message is the sentence in the answer. */
export class EngineRefusal extends Error {
  override name = 'EngineRefusal';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
