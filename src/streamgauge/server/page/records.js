// What the page knows of every query: from the board now and then, from the live feed at once.

import { stateOf } from "./state.js";

export const TRAIL = 60;
// Epochs that the feed may have to repeat for a query before its trail is read anew instead.
const LONGEST_GAP = 30;

export class Records {
  constructor() {
    this.known = new Map();
    this.names = [];
    this.epoch = 0;
    this.silent = {};
  }

  of(name) {
    return this.known.get(name);
  }

  /** Take in a board; answers that the feed brought since are newer and stay. */
  take(board) {
    this.epoch = board.epoch;
    this.silent = board.silent;
    this.names = board.names;
    const before = this.known;
    this.known = new Map();
    board.names.forEach((name, i) => {
      const old = before.get(name);
      const record = old?.version === board.versions[i] ? old : fresh(name, old);
      record.version = board.versions[i];
      record.kind = board.kinds[i];
      record.contract = board.contracts[i];
      record.streams = board.streams[i];
      record.groups = board.groups[i];
      record.saved = board.saved[i];
      record.suppressed = board.suppressed[i];
      record.audit = board.audits[i];
      const told = answerOf(board, i);
      // A board has all answers up to its epoch; the worst of its groups may be an older one.
      const ahead = record.answer !== null && record.answer.epoch > board.epoch;
      const still = board.states[i] === "paused" || board.states[i] === "suspended" || (board.states[i] === "waiting" && told !== null);
      if (!ahead) {
        if (told !== null && record.kind === "numbers") extend(record, told);
        record.answer = told;
      }
      record.state = ahead && !still ? stateOf(record.answer) : board.states[i];
      this.known.set(name, record);
    });
  }

  /** Take in an answer of the feed; the name of its query when that shows it. */
  hear(answer) {
    const record = this.known.get(answer.query);
    if (record === undefined || record.version !== answer.version) return null;
    record.upto = Math.max(record.upto, answer.epoch - 1);
    const shown = record.answer;
    const same = shown === null || String(shown.group) === String(answer.group);
    if (same && shown !== null && older(answer, shown)) return null;
    // A group that has left: the next board says which is worst now.
    if (answer.basis === "empty" && answer.group.length) return null;
    // Of groups the worst is shown; when it gets better, the next board says which is worst now.
    if (!same && !worse(answer, shown)) return null;
    if (!same) record.trail = [];
    extend(record, answer);
    record.answer = answer;
    if (record.state !== "paused" && record.state !== "suspended") record.state = stateOf(answer);
    return record.name;
  }

  /** Take in the last answers of some queries. */
  seed({ epoch, groups, trails }) {
    for (const [name, trail] of Object.entries(trails)) {
      const record = this.known.get(name);
      if (record === undefined) continue;
      record.trail = trail.map(([given, as_of, value, low, high]) => ({ epoch: given, as_of, value, low, high }));
      record.upto = epoch;
      const shown = record.answer;
      if (shown !== null && record.kind === "numbers" && String(shown.group) === String(groups[name])) extend(record, shown);
    }
  }

  /** Whether the last answers of a query must be read before it is followed. */
  lacks(name) {
    const record = this.known.get(name);
    if (record === undefined || record.kind !== "numbers") return false;
    return record.trail === null || this.epoch - record.upto > LONGEST_GAP;
  }

  counts() {
    const found = {};
    for (const record of this.known.values()) found[record.state] = (found[record.state] ?? 0) + 1;
    return found;
  }

  /** Agents of a query's streams that are not heard. */
  unheard(record) {
    return record.streams.flatMap((stream) => this.silent[stream] ?? []);
  }
}

/** A record of a new version: what was answered before stays in sight, so that a change is seen. */
function fresh(name, old) {
  return { name, answer: null, trail: old?.trail ?? null, upto: old?.upto ?? 0 };
}

function answerOf(board, i) {
  if (board.kinds[i] === "rows") return heldRows(board, i);
  if (board.bases[i] === null) return null;
  return {
    value: board.values[i],
    low: board.lows[i],
    high: board.highs[i],
    confidence: board.confidences[i],
    basis: board.bases[i],
    charges: board.charges[i].map(([by, width]) => ({ by, width })),
    contract_met: board.met[i],
    as_of: board.as_of[i],
    epoch: board.epochs[i],
    group: board.group[i],
    coverage: board.coverages[i],
    share: board.shares[i],
  };
}

/** How many rows a view holds, as an answer; a budget that did not reach leaves the top open. */
function heldRows(board, i) {
  if (board.held[i] === null) return null;
  const whole = board.shares[i] >= 1;
  return {
    value: board.held[i],
    low: board.held[i],
    high: whole ? board.held[i] : null,
    confidence: 1,
    basis: "exact",
    charges: whole ? [] : [{ by: "promising", width: null }],
    contract_met: board.states[i] !== "degraded",
    as_of: null,
    epoch: 0,
    group: [],
    coverage: 1,
    share: board.shares[i],
  };
}

function extend(record, answer) {
  if (record.trail === null) return;
  const last = record.trail.at(-1);
  if (last !== undefined && older(answer, last)) return;
  record.trail.push(answer);
  if (record.trail.length > TRAIL) record.trail.shift();
}

/** Whether an answer was given before another, or is the same one. */
function older(answer, than) {
  if (answer.epoch !== than.epoch) return answer.epoch < than.epoch;
  return (answer.as_of ?? "") <= (than.as_of ?? "");
}

function worse(answer, than) {
  if (answer.contract_met !== than.contract_met) return !answer.contract_met;
  return width(answer) > width(than);
}

function width(answer) {
  if (answer.value === null || answer.low === null || answer.high === null) return Infinity;
  return answer.high - answer.low;
}
