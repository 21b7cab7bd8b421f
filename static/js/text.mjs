/** Text that grows by many small pieces: joined only when it is read. */
export class Text {
  constructor(text = "") {
    this.pieces = text ? [text] : [];
    this.length = text.length;
    this.read = 0;
  }

  append(piece) {
    this.pieces.push(piece);
    this.length += piece.length;
  }

  /** The pieces since the last call. */
  fresh() {
    const pieces = this.pieces.slice(this.read);
    this.read = this.pieces.length;
    return pieces.join("");
  }

  /** All of it. */
  all() {
    this.pieces = [this.pieces.join("")];
    this.read = 1;
    return this.pieces[0];
  }
}
