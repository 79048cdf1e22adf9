// What a track is bound to; track_opened events and snapshots hold it.

#include <utility>

#include "schema/codec_ledger.h"

namespace pawl::codec {
namespace {

constexpr std::size_t kMaxParameters = 256;
constexpr std::size_t kMaxPackageFiles = 4096;

void WriteParameters(const Parameters& value, capnp::List<wire::Parameter>::Builder out) {
  WriteList(value, out, [](const Parameters::value_type& entry, wire::Parameter::Builder place) {
    place.setKey(AsText(entry.first));
    if (const double* number = std::get_if<double>(&entry.second)) {
      place.setNumber(*number);
    } else {
      place.setWord(AsText(std::get<std::string>(entry.second)));
    }
  });
}

Parameters ReadParameters(capnp::List<wire::Parameter>::Reader in, const Place& at) {
  using Entry = std::pair<std::string, Parameters::mapped_type>;
  auto entries =
      ReadList(in, at, 0, kMaxParameters,
               [](wire::Parameter::Reader parameter, const Place& place) -> Entry {
                 std::string key = (place / "key").Word(parameter.getKey());
                 switch (parameter.which()) {
                   case wire::Parameter::NUMBER:
                     return {std::move(key), (place / "value").Finite(parameter.getNumber())};
                   case wire::Parameter::WORD:
                     return {std::move(key), (place / "value").Line(parameter.getWord())};
                 }
                 (place / "value").Refuse("of an unknown kind", "a number or a word");
                 return {std::move(key), 0.0};
               });
  return ReadSorted<Parameters>(std::move(entries), at);
}

}  // namespace

void WriteSpec(const TrackSpec& value, wire::TrackSpec::Builder out) {
  out.setJob(AsText(FitLine(value.job)));
  out.setLabel(AsText(FitLine(value.label)));
  out.setOperation(AsText(value.operation));
  WriteScalars(value.shape, out.initShape(Size(value.shape.size())));
  out.setDtype(static_cast<wire::DType>(value.dtype));
  out.setBackend(AsText(value.backend));
  out.setStructure(AsText(value.structure));
  out.setDeviceModel(AsText(FitLine(value.device_model)));
  out.setToolchain(AsText(FitLine(value.toolchain)));
  out.setInstrument(static_cast<wire::Instrument>(value.instrument));
  out.setWarmup(value.warmup);
  out.setIterations(value.iterations);
  out.setPolicy(AsText(value.policy));
  WriteParameters(value.policy_parameters,
                  out.initPolicyParameters(Size(value.policy_parameters.size())));
  out.setProposer(AsText(value.proposer));
  WriteParameters(value.proposer_parameters,
                  out.initProposerParameters(Size(value.proposer_parameters.size())));
  out.setSeed(value.seed);
  auto budget = out.getBudget();
  budget.setGenerations(value.budget.generations);
  budget.setMinutes(value.budget.minutes);
  budget.setStale(value.budget.stale);
  WriteConfiguration(value.start, out.initStart(Size(value.start.settings.size())));
  WriteList(value.package, out.initPackage(Size(value.package.size())),
            [](const auto& file, wire::PackageFile::Builder place) {
              place.setName(AsText(file.first));
              WriteDigest(file.second,
                          [&](capnp::Data::Reader digest) { place.setDigest(digest); });
            });
  out.setConfirm(value.confirm);
  out.setPeakGflops(value.peak_gflops);
  out.setPeakGbytesPerS(value.peak_gbytes_per_s);
  WriteDeadlines(value.deadlines, out.getDeadlines());
  out.setRequirePinned(value.require_pinned);
}

TrackSpec ReadSpec(wire::TrackSpec::Reader in, const Place& at) {
  TrackSpec value;
  value.job = (at / "job").Line(in.getJob());
  value.label = (at / "label").Line(in.getLabel());
  value.operation = (at / "operation").WordOrNothing(in.getOperation());
  value.shape = ReadScalars(in.getShape(), at / "shape");
  value.dtype = (at / "dtype").Known(in.getDtype(), DType::kU32);
  value.backend = (at / "backend").WordOrNothing(in.getBackend());
  value.structure = (at / "structure").WordOrNothing(in.getStructure());
  value.device_model = (at / "device_model").Line(in.getDeviceModel());
  value.toolchain = (at / "toolchain").Line(in.getToolchain());
  value.instrument = (at / "instrument").Known(in.getInstrument(), Instrument::kGraphTime);
  value.warmup = in.getWarmup();
  value.iterations = in.getIterations();
  value.policy = (at / "policy").WordOrNothing(in.getPolicy());
  value.policy_parameters = ReadParameters(in.getPolicyParameters(), at / "policy_parameters");
  value.proposer = (at / "proposer").WordOrNothing(in.getProposer());
  value.proposer_parameters =
      ReadParameters(in.getProposerParameters(), at / "proposer_parameters");
  value.seed = in.getSeed();
  const auto budget = in.getBudget();
  value.budget = {budget.getGenerations(), (at / "budget.minutes").NotNegative(budget.getMinutes()),
                  budget.getStale()};
  value.start = ReadConfiguration(in.getStart(), at / "start");
  using Entry = std::pair<std::string, Digest>;
  auto files = ReadList(in.getPackage(), at / "package", 0, kMaxPackageFiles,
                        [](wire::PackageFile::Reader file, const Place& place) -> Entry {
                          return {(place / "name").FilePath(file.getName()),
                                  (place / "digest").AnyDigest(file.getDigest())};
                        });
  value.package = ReadSorted<std::map<std::string, Digest>>(std::move(files), at / "package");
  value.confirm = in.getConfirm();
  value.peak_gflops = (at / "peak_gflops").NotNegative(in.getPeakGflops());
  value.peak_gbytes_per_s = (at / "peak_gbytes_per_s").NotNegative(in.getPeakGbytesPerS());
  value.deadlines = ReadDeadlines(in.getDeadlines(), at / "deadlines");
  value.require_pinned = in.getRequirePinned();
  return value;
}

}  // namespace pawl::codec
