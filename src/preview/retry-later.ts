import { AppError, type ErrorCode } from '../contract/error.ts';

/** A refusal of something that will be possible in a while. */
export class RetryLaterError extends AppError {
  override name = 'RetryLaterError';
  readonly seconds: number;

  constructor(code: ErrorCode, sentence: string, seconds: number) {
    super(code, sentence);
    this.seconds = seconds;
  }
}
