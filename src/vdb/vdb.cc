#include "vdb/vdb.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <openvdb/io/Archive.h>
#include <openvdb/io/Stream.h>
#include <openvdb/openvdb.h>
#include <openvdb/tools/Interpolation.h>
#include <openvdb/tools/MeshToVolume.h>
#include <sstream>
#include <tbb/task_arena.h>
extern "C" {
#include "base/error.h"
#include "base/hash.h"
}

namespace {

/// Voxels of distance to either side of the surface: what OpenVDB's tools expect.
constexpr float half_width = 3;

/// Runs `work`; what it throws becomes a result. OpenVDB works on the caller's thread alone, so the
/// bytes do not depend on how many cores there are.
template <typename Work> BrimResult guarded(BrimError *error, Work work) {
    try {
        tbb::task_arena one(1);
        one.execute(work);
        return BRIM_OK;
    } catch (const std::bad_alloc &) {
        return fail(error, BRIM_ERROR_MEMORY, "out of memory for an OpenVDB file");
    } catch (const std::exception &e) {
        return fail(error, BRIM_ERROR_INPUT, "OpenVDB: %s", e.what());
    }
}

/// A surface in units of voxels, as meshToVolume wants it. Values are at centres of voxels: with
/// corners of them on the domain's sides, where the distance is zero, programs that make a surface
/// of the level set would bevel its edges there three times as wide.
struct IndexMesh {
    const BrimMesh *mesh;
    double per_metre;

    size_t polygonCount() const {
        return mesh->triangle_count;
    }
    size_t pointCount() const {
        return mesh->vertex_count;
    }
    size_t vertexCount(size_t) const {
        return 3;
    }
    void getIndexSpacePoint(size_t polygon, size_t corner, openvdb::Vec3d &out) const {
        const float *p = mesh->position[mesh->triangle[polygon][corner]];
        out = openvdb::Vec3d(p[0], p[1], p[2]) * per_metre - openvdb::Vec3d(0.5);
    }
};

/// Grids as bytes with a table of where each begins, as a file on disk has it.
struct Bytes : openvdb::io::Archive {
    std::string of(const openvdb::GridCPtrVec &grids, const openvdb::MetaMap &notes) const {
        std::ostringstream out(std::ios_base::binary);
        write(out, grids, true, notes);
        if (!out) throw std::bad_alloc();
        return out.str();
    }
};

/// OpenVDB marks each file with a random number. Ours follows from the content.
void mark_by_content(std::string &bytes) {
    constexpr size_t at = 8 + 3 * 4 + 1, length = 36; // magic, three versions, one flag
    if (bytes.size() < at + length || bytes[at + 8] != '-' || bytes[at + 23] != '-')
        throw std::runtime_error("this version lays out its files in another way than is known");
    std::memset(&bytes[at], '0', length);
    uint64_t a = hash_bytes(0, bytes.data(), bytes.size()), b = hash_mix(a);
    char mark[length + 1];
    std::snprintf(mark, sizeof mark, "%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
                  (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(b >> 48 & 0xfff),
                  (unsigned long long)(b & 0xffffffffffff));
    std::memcpy(&bytes[at], mark, length);
}

void copy_text(char *out, size_t size, const std::string &text) {
    std::snprintf(out, size, "%s", text.c_str());
}

} // namespace

// ------------------------------------------------------------------------------------- writing

struct Vdb {
    double cell;
    openvdb::MetaMap notes;
    openvdb::FloatGrid::Ptr surface;
    openvdb::Vec3SGrid::Ptr velocity;

    openvdb::Vec3SGrid &velocity_grid() {
        if (velocity) return *velocity;
        velocity = openvdb::Vec3SGrid::create();
        velocity->setName("velocity");
        velocity->setVectorType(openvdb::VEC_CONTRAVARIANT_RELATIVE);
        velocity->insertMeta("unit", openvdb::StringMetadata("m/s"));
        auto transform = openvdb::math::Transform::createLinearTransform(cell);
        transform->postTranslate(openvdb::Vec3d(0.5 * cell));
        velocity->setTransform(transform);
        return *velocity;
    }
};

Vdb *vdb_new(double cell, double time, int frame) {
    Vdb *vdb = nullptr;
    guarded(nullptr, [&] {
        auto made = std::make_unique<Vdb>();
        made->cell = cell;
        made->notes.insertMeta("creator", openvdb::StringMetadata("brim " BRIM_VERSION_STRING));
        made->notes.insertMeta("time", openvdb::DoubleMetadata(time));
        made->notes.insertMeta("frame", openvdb::Int32Metadata(frame));
        vdb = made.release();
    });
    return vdb;
}

void vdb_free(Vdb **vdb) {
    delete *vdb;
    *vdb = nullptr;
}

BrimResult vdb_add_surface(Vdb *vdb, const BrimMesh *mesh, double voxel, BrimError *error) {
    return guarded(error, [&] {
        auto transform = openvdb::math::Transform::createLinearTransform(voxel);
        transform->postTranslate(openvdb::Vec3d(0.5 * voxel));
        if (mesh->triangle_count)
            vdb->surface = openvdb::tools::meshToVolume<openvdb::FloatGrid>(
                IndexMesh{mesh, 1 / voxel}, *transform, half_width, half_width);
        else
            vdb->surface = openvdb::createLevelSet<openvdb::FloatGrid>(voxel, half_width);
        vdb->surface->setTransform(transform);
        vdb->surface->setName("surface");
        vdb->surface->setGridClass(openvdb::GRID_LEVEL_SET);
        vdb->surface->insertMeta("unit", openvdb::StringMetadata("m"));
    });
}

BrimResult vdb_add_velocity_row(Vdb *vdb, const int first[3], int count, const float *velocity,
                                const float *level, float cut, BrimError *error) {
    return guarded(error, [&] {
        auto at = vdb->velocity_grid().getAccessor();
        for (int i = 0; i < count; i++)
            if (level[i] < cut)
                at.setValueOn(openvdb::Coord(first[0] + i, first[1], first[2]),
                              openvdb::Vec3s(velocity + 3 * (size_t)i));
    });
}

BrimResult vdb_add_velocity_particles(Vdb *vdb, const BrimParticles *p, BrimError *error) {
    return guarded(error, [&] {
        auto &grid = vdb->velocity_grid();
        auto weights = openvdb::FloatGrid::create();
        auto sum_at = grid.getAccessor();
        auto weight_at = weights->getAccessor();
        for (size_t i = 0; i < p->count; i++) {
            const double x[3] = {p->x[i] / vdb->cell - 0.5, p->y[i] / vdb->cell - 0.5,
                                 p->z[i] / vdb->cell - 0.5};
            const openvdb::Vec3s v(p->vx[i], p->vy[i], p->vz[i]);
            int low[3];
            float part[3][2];
            for (int a = 0; a < 3; a++) {
                double whole = std::floor(x[a]);
                if (!(std::fabs(whole) < 1e9) || !std::isfinite(v[a]))
                    throw std::runtime_error("a particle's position or velocity is not a number");
                low[a] = (int)whole;
                part[a][1] = (float)(x[a] - whole), part[a][0] = 1 - part[a][1];
            }
            for (int k = 0; k < 8; k++) {
                float w = part[0][k & 1] * part[1][k >> 1 & 1] * part[2][k >> 2];
                if (w <= 0) continue;
                openvdb::Coord c(low[0] + (k & 1), low[1] + (k >> 1 & 1), low[2] + (k >> 2));
                sum_at.setValueOn(c, sum_at.getValue(c) + w * v);
                weight_at.setValueOn(c, weight_at.getValue(c) + w);
            }
        }
        for (auto it = grid.beginValueOn(); it; ++it)
            it.setValue(it.getValue() / weight_at.getValue(it.getCoord()));
    });
}

BrimResult vdb_bytes(const Vdb *vdb, void **bytes, size_t *count, BrimError *error) {
    *bytes = nullptr, *count = 0;
    return guarded(error, [&] {
        openvdb::GridCPtrVec grids;
        if (vdb->surface) grids.push_back(vdb->surface);
        if (vdb->velocity) grids.push_back(vdb->velocity);
        std::string text = Bytes().of(grids, vdb->notes);
        mark_by_content(text);
        *bytes = std::malloc(text.size());
        if (!*bytes) throw std::bad_alloc();
        std::memcpy(*bytes, text.data(), text.size());
        *count = text.size();
    });
}

// ------------------------------------------------------------------------------------- reading

struct VdbFile {
    openvdb::GridPtrVec grids;
    std::string creator;
    double time = std::numeric_limits<double>::quiet_NaN();
    int frame = -1;
};

BrimResult vdb_open(const char *path, VdbFile **file, BrimError *error) {
    *file = nullptr;
    auto read = std::make_unique<VdbFile>();
    BrimError reason;
    BrimResult result = guarded(&reason, [&] {
        openvdb::initialize();
        std::ifstream bytes(path, std::ios_base::binary);
        bytes.exceptions(std::ios_base::badbit | std::ios_base::failbit | std::ios_base::eofbit);
        openvdb::io::Stream in(bytes, false); // which does not notice by itself where bytes end
        auto notes = in.getMetadata();
        if (auto m = notes->getMetadata<openvdb::StringMetadata>("creator"))
            read->creator = m->value();
        if (auto m = notes->getMetadata<openvdb::DoubleMetadata>("time")) read->time = m->value();
        if (auto m = notes->getMetadata<openvdb::Int32Metadata>("frame")) read->frame = m->value();
        read->grids = *in.getGrids();
    });
    if (result == BRIM_ERROR_INPUT)
        return fail(error, BRIM_ERROR_DAMAGED, "'%s' is damaged, or no OpenVDB file (%.200s)", path,
                    reason.message);
    if (result != BRIM_OK) return fail(error, result, "%s", reason.message);
    *file = read.release();
    return BRIM_OK;
}

void vdb_close(VdbFile **file) {
    delete *file;
    *file = nullptr;
}

int vdb_grid_count(const VdbFile *file) {
    return (int)file->grids.size();
}

VdbGrid vdb_grid(const VdbFile *file, int index) {
    const auto &grid = *file->grids.at((size_t)index);
    VdbGrid g = {};
    copy_text(g.name, sizeof g.name, grid.getName());
    copy_text(g.type, sizeof g.type, grid.valueType());
    copy_text(g.kind, sizeof g.kind, openvdb::GridBase::gridClassToString(grid.getGridClass()));
    if (auto m = grid.getMetadata<openvdb::StringMetadata>("unit"))
        copy_text(g.unit, sizeof g.unit, m->value());
    g.active = grid.activeVoxelCount();
    g.voxel = grid.voxelSize()[0];
    auto box = grid.evalActiveVoxelBoundingBox();
    if (!g.active) return g;
    auto low = grid.indexToWorld(box.min()), high = grid.indexToWorld(box.max());
    for (int a = 0; a < 3; a++) g.low[a] = low[a], g.high[a] = high[a];
    return g;
}

const char *vdb_creator(const VdbFile *file) {
    return file->creator.c_str();
}

double vdb_time(const VdbFile *file) {
    return file->time;
}

int vdb_frame(const VdbFile *file) {
    return file->frame;
}

int vdb_probe(const VdbFile *file, int index, const double at[3], double out[3]) {
    const openvdb::Vec3d point(at);
    const auto &grid = file->grids.at((size_t)index);
    if (auto f = openvdb::gridPtrCast<openvdb::FloatGrid>(grid)) {
        openvdb::tools::GridSampler<openvdb::FloatGrid, openvdb::tools::BoxSampler> sample(*f);
        out[0] = sample.wsSample(point);
        return 1;
    }
    if (auto v = openvdb::gridPtrCast<openvdb::Vec3SGrid>(grid)) {
        openvdb::tools::GridSampler<openvdb::Vec3SGrid, openvdb::tools::BoxSampler> sample(*v);
        auto value = sample.wsSample(point);
        for (int a = 0; a < 3; a++) out[a] = value[a];
        return 3;
    }
    return 0;
}
