// Jobs, as events and snapshots have them.

#include "schema/codec_ledger.h"

namespace pawl::codec {

void WriteSubmitted(const JobSubmitted& value, wire::JobSubmitted::Builder out) {
  out.setJob(AsText(value.job));
  out.setFile(AsText(FitLine(value.file)));
  out.setText(AsData(value.text));
  out.setPriority(value.priority);
  out.setBy(AsText(FitLine(value.by)));
}

JobSubmitted ReadSubmitted(wire::JobSubmitted::Reader in, const Place& at) {
  return {(at / "job").Word(in.getJob()), (at / "file").Line(in.getFile()),
          (at / "text").Bytes(in.getText(), kMaxJobBytes),
          (at / "priority").Within(in.getPriority(), -kMaxPriority, kMaxPriority),
          (at / "by").Line(in.getBy())};
}

}  // namespace pawl::codec
